//! An alarm that rings on the instant. tokio's timers count whole milliseconds and round up, which makes every occurrence
//! late by half of one and more; a timer of the kernel, which wakes whoever waits for the network, is late by a tenth.
//!
//! To wake somebody up takes more time than many a call. So it rings once a millisecond at the most: what is due between two
//! goes with the second.
//!
//! Only Linux has such timers. Elsewhere there is no alarm, and tokio's timers do.

#[cfg(target_os = "linux")]
mod machine {
    use std::future::pending;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use rustix::io::{Errno, read};
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use tracing::warn;

    /// How long it is silent after it has rung.
    const REST: Duration = Duration::from_millis(1);

    /// See the module above.
    pub(crate) struct Alarm {
        timer: AsyncFd<OwnedFd>,
        /// When it may ring again.
        rested: Instant,
    }

    impl Alarm {
        /// An alarm that is not set; `None` where the machine has none.
        pub(crate) fn start() -> Option<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(io::Error::from);
            match timer.and_then(watch) {
                Ok(timer) => Some(Self { timer, rested: now() }),
                Err(error) => {
                    warn!(%error, "there is no timer for an alarm: calls go up to a millisecond later");
                    None
                }
            }
        }

        /// Rings so much later, and not when it was set for before. Whether it is set.
        pub(crate) fn set(&self, ahead: Duration) -> bool {
            let rest = self.rested.saturating_duration_since(now());
            // Nothing at all would turn it off.
            let ahead = ahead.max(rest).max(Duration::from_nanos(1));
            let Ok(it_value) = Timespec::try_from(ahead) else { return false };
            let new = Itimerspec { it_interval: Timespec::default(), it_value };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &new).is_ok()
        }

        /// Waits until it has rung.
        pub(crate) async fn rung(&mut self) {
            loop {
                // Fails only where the runtime is about to end.
                let Ok(mut ready) = self.timer.readable().await else { return pending().await };
                let mut times = [0; 8];
                match ready.try_io(|timer| Ok(read(timer, &mut times)?)) {
                    Ok(Err(error)) if Errno::from_io_error(&error) == Some(Errno::INTR) => {}
                    Ok(_) => break,
                    // It was set anew after it had rung.
                    Err(_) => {}
                }
            }
            self.rested = now() + REST;
        }
    }

    #[expect(deprecated, reason = "right for what owns its descriptor; what is new instead is unsafe code")]
    fn watch(timer: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
        AsyncFd::with_interest(timer, Interest::READABLE)
    }

    #[expect(clippy::disallowed_methods, reason = "only how much passes counts, and tokio's may stand still")]
    fn now() -> Instant {
        Instant::now()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[tokio::test]
        async fn it_rings_when_it_is_due_and_not_before() {
            let mut alarm = Alarm::start().expect("there is a timer");
            for ahead in [0, 1, 7, 20].map(|parts| Duration::from_micros(300) * parts) {
                let began = now();
                assert!(alarm.set(ahead));
                alarm.rung().await;
                assert!(began.elapsed() >= ahead);
            }
        }

        #[tokio::test]
        async fn it_rests_after_it_has_rung() {
            let mut alarm = Alarm::start().expect("there is a timer");
            assert!(alarm.set(Duration::ZERO));
            alarm.rung().await;
            let rung = now();
            assert!(alarm.set(Duration::ZERO));
            alarm.rung().await;
            // It counted its rest from a little before.
            assert!(rung.elapsed() > REST / 2);
        }

        #[tokio::test]
        async fn the_last_word_counts() {
            let mut alarm = Alarm::start().expect("there is a timer");
            let (soon, later, never) =
                (Duration::from_millis(5), Duration::from_millis(40), Duration::from_secs(3600));
            // Sooner than before, and later than before.
            for (first, then) in [(never, soon), (soon, later)] {
                let began = now();
                assert!(alarm.set(first) && alarm.set(then));
                alarm.rung().await;
                assert!(began.elapsed() >= then);
            }
        }

        /// What has rung and was not heard does not ring later, when it was set for another time.
        #[tokio::test]
        async fn what_rang_unheard_is_over_when_it_is_set_anew() {
            let mut alarm = Alarm::start().expect("there is a timer");
            assert!(alarm.set(Duration::ZERO));
            drop(alarm.timer.readable().await.expect("it rings"));
            let (began, later) = (now(), Duration::from_millis(20));
            assert!(alarm.set(later));
            alarm.rung().await;
            assert!(began.elapsed() >= later);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use std::time::Duration;

    /// There is none.
    pub(crate) enum Alarm {}

    impl Alarm {
        pub(crate) fn start() -> Option<Self> {
            None
        }

        pub(crate) fn set(&self, _: Duration) -> bool {
            match *self {}
        }

        pub(crate) async fn rung(&mut self) {
            match *self {}
        }
    }
}

pub(crate) use machine::Alarm;
