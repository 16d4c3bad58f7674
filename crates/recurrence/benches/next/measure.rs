//! How long something takes.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long one sample takes, at least.
const SAMPLE: Duration = Duration::from_micros(500);

/// How long the samples of one run take together, about.
const SAMPLES: Duration = Duration::from_millis(500);

/// However long they take, there are so many: an odd number, for the median.
const FEWEST_SAMPLES: usize = 5;

/// More would say nothing new.
const MOST_SAMPLES: usize = 501;

/// What an engine has to do with a rule; `Err` says why it has nothing to do with it.
pub(crate) type Part<T> = Result<T, &'static str>;

/// Does something so many times, and says how long that took.
pub(crate) type Run<'a> = Box<dyn FnMut(usize) -> Duration + 'a>;

/// Asks about one thing after the other, and begins again when all had their turn.
pub(crate) fn asking<'a, T: 'a, A>(things: Vec<T>, ask: impl Fn(&T) -> A + 'a) -> Run<'a> {
    let mut turn = 0;
    Box::new(move |count| {
        timed(|| {
            let mut left = count;
            while left > 0 {
                let some = &things[turn..things.len().min(turn + left)];
                for thing in some {
                    black_box(ask(black_box(thing)));
                }
                left -= some.len();
                turn = (turn + some.len()) % things.len();
            }
        })
    })
}

/// Asks an iterator that remembers where it is, and begins again when it has come to its end.
pub(crate) fn running_on<'a, I: Iterator + 'a>(begin: impl Fn() -> I + 'a) -> Run<'a> {
    let mut iterator = begin();
    Box::new(move |count| {
        timed(|| {
            for _ in 0..count {
                if black_box(iterator.next()).is_none() {
                    iterator = begin();
                }
            }
        })
    })
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures elapsed time")]
pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// The median time of one turn of each run, in nanoseconds. They take turns at being sampled, so that what else the
/// machine does meets all of them.
pub(crate) fn measure<const N: usize>(runs: [Part<Run<'_>>; N]) -> [Part<f64>; N] {
    struct Sampled<'a> {
        run: Run<'a>,
        turns: usize,
        wanted: usize,
        samples: Vec<f64>,
    }
    let mut sampled = runs.map(|run| -> Part<Sampled<'_>> {
        let mut run = run?;
        // Finds out how many turns make a sample, and warms up by the way.
        let mut turns = 1;
        let mut took = run(turns);
        while took < SAMPLE {
            turns *= 2;
            took = run(turns);
        }
        let fitting = SAMPLES.as_nanos() / took.as_nanos();
        let wanted = (fitting as usize).clamp(FEWEST_SAMPLES, MOST_SAMPLES);
        Ok(Sampled { run, turns, wanted, samples: Vec::new() })
    });
    let rounds = sampled.iter().flatten().map(|one| one.wanted).max().unwrap_or_default();
    for round in 1..=rounds {
        for one in sampled.iter_mut().flatten() {
            // Whoever has fewer samples has them spread over all rounds.
            if one.samples.len() * rounds < round * one.wanted {
                one.samples.push((one.run)(one.turns).as_nanos() as f64 / one.turns as f64);
            }
        }
    }
    sampled.map(|one| Ok(median(one?.samples)))
}

pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}
