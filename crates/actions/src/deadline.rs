//! Deadlines that a suspended process does not miss.
//!
//! A process that is stopped and goes on later finds timers that have run out beside answers that have arrived. The timer
//! must not win: what lies in the socket is read first.

use std::{future::Future, pin::pin, time::Duration};

use tokio::time::{Instant, error::Elapsed, timeout, timeout_at};

/// A deadline that is noticed so late was missed because the process did not run.
const LATE: Duration = Duration::from_secs(1);

/// How long what arrived meanwhile may take to be read.
const GRACE: Duration = Duration::from_secs(1);

/// Waits for a future, at most so long. If the process did not run when that time was over, the future gets a moment more.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let until = Instant::now() + limit;
    match timeout_at(until, &mut future).await {
        Err(_) if until.elapsed() >= LATE => timeout(GRACE, future).await,
        ended => ended,
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        task::yield_now,
        time::{advance, sleep},
    };

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// An answer that comes after some seconds, and takes a few steps to be read.
    async fn answer(after: u64) -> &'static str {
        sleep(Duration::from_secs(after)).await;
        for _ in 0..10 {
            yield_now().await;
        }
        "answer"
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_while_the_process_was_stopped_is_read() {
        let call = tokio::spawn(within(MINUTE, answer(8)));
        yield_now().await;
        advance(Duration::from_secs(135)).await;
        assert_eq!(call.await.unwrap(), Ok("answer"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_did_not_come_is_too_late() {
        let began = Instant::now();
        let call = tokio::spawn(within(MINUTE, answer(300)));
        yield_now().await;
        advance(Duration::from_secs(135)).await;
        assert!(call.await.unwrap().is_err());
        assert!(began.elapsed() < Duration::from_secs(135) + 2 * GRACE);
        let began = Instant::now();
        assert!(within(MINUTE, answer(61)).await.is_err(), "a process that runs gives no grace");
        assert!(began.elapsed() < MINUTE + LATE);
    }
}
