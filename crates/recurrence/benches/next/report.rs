//! The figures as Markdown, or as JSON.

use crate::measure::Part;

const ENGINES: [&str; 3] = ["ours", "rrule", "croner"];

/// What the question costs for a rule, in nanoseconds, in the order of [`ENGINES`].
pub(crate) struct Row {
    pub(crate) rule: &'static str,
    /// After any instant.
    pub(crate) asked: [Part<f64>; 3],
    /// After the last occurrence.
    pub(crate) running: [Part<f64>; 3],
}

/// What something else costs, in nanoseconds.
pub(crate) type Cost = (String, f64);

pub(crate) fn markdown(rows: &[Row], costs: &[Cost]) {
    println!("The next occurrence after any instant:\n");
    table(rows, |row| row.asked);
    println!("\nFrom one occurrence to the next:\n");
    table(rows, |row| row.running);
    not_measured(rows);
    if !costs.is_empty() {
        println!("\nWhat else takes time:\n\n| what | time |\n|---|--:|");
        for (what, nanos) in costs {
            println!("| {what} | {} |", time(*nanos));
        }
    }
}

fn table(rows: &[Row], parts: impl Fn(&Row) -> [Part<f64>; 3]) {
    println!("| rule | {} |\n|---|--:|--:|--:|", ENGINES.join(" | "));
    for row in rows {
        let [ours, others @ ..] = parts(row);
        let ours = ours.unwrap_or_default();
        let [rrule, croner] = others.map(|part| {
            part.map_or("—".to_owned(), |nanos| format!("{} (×{})", time(nanos), short(nanos / ours)))
        });
        println!("| {} | {} | {rrule} | {croner} |", row.rule, time(ours));
    }
}

/// Which engine takes no part in which rules, and why.
fn not_measured(rows: &[Row]) {
    let mut absent: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows {
        for (engine, part) in ENGINES.iter().zip(row.asked) {
            let Err(reason) = part else { continue };
            let reason = format!("{engine} {reason}");
            match absent.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, rules)) => rules.push(row.rule),
                None => absent.push((reason, vec![row.rule])),
            }
        }
    }
    if !absent.is_empty() {
        println!("\nNot measured:\n");
    }
    for (reason, rules) in absent {
        println!("- {reason}: {}.", rules.join("; "));
    }
}

fn time(nanos: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    // What would be rounded to 1000 is 1 of the next unit.
    let (unit, name) = units.into_iter().find(|(unit, _)| nanos >= 0.995 * unit).unwrap_or((1.0, "ns"));
    format!("{} {name}", short(nanos / unit))
}

/// Two digits that count, with spaces between thousands.
fn short(number: f64) -> String {
    if number < 9.95 {
        return format!("{number:.1}");
    }
    let unit = 10_f64.powf(number.log10().floor() - 1.0);
    let digits = format!("{:.0}", (number / unit).round() * unit);
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(" ")
}

pub(crate) fn json(rows: &[Row], costs: &[Cost]) {
    let number = |nanos: f64| format!("{nanos:.1}");
    let parts = |parts: [Part<f64>; 3]| {
        let parts = parts.map(|part| part.map_or("null".to_owned(), number));
        let members: Vec<_> =
            ENGINES.iter().zip(parts).map(|(engine, part)| format!("{engine:?}:{part}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let (rule, asked, running) = (row.rule, parts(row.asked), parts(row.running));
            format!(r#"{{"rule":{rule:?},"asked":{asked},"running":{running}}}"#)
        })
        .collect();
    let costs: Vec<_> = costs
        .iter()
        .map(|(what, nanos)| format!(r#"{{"what":{what:?},"time":{}}}"#, number(*nanos)))
        .collect();
    println!(r#"{{"unit":"ns","rules":[{}],"else":[{}]}}"#, rows.join(","), costs.join(","));
}
