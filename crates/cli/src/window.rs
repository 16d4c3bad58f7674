//! A window of time on something that happened: since when, until when, and how much of it.

use clap::Args;
use recurrence::Timestamp;

use crate::client::Going;
use crate::moment;

/// Which part of a long list, newest first.
#[derive(Debug, Args)]
pub(crate) struct Window {
    /// Only what was due or began since then: a time (ISO 8601), or how long ago, such as 12h or 2d
    #[arg(long, value_name = "WHEN", value_parser = moment::read_now)]
    since: Option<Timestamp>,
    /// Only what was due or began until then
    #[arg(long, value_name = "WHEN", value_parser = moment::read_now)]
    until: Option<Timestamp>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
}

impl Window {
    /// Its first instant, as the API writes it.
    pub(crate) fn since(&self) -> Option<String> {
        self.since.map(wire::date_time::write)
    }

    /// Its last instant.
    pub(crate) fn until(&self) -> Option<String> {
        self.until.map(wire::date_time::write)
    }

    /// Lets as many entries through as are wanted, then says that it is enough.
    pub(crate) fn first<T>(
        &self,
        mut each: impl FnMut(T) -> anyhow::Result<()>,
    ) -> impl FnMut(T) -> anyhow::Result<Going> {
        let mut left = self.limit;
        move |entry| {
            if left == 0 {
                return Ok(Going::Enough);
            }
            left -= 1;
            each(entry).map(|()| Going::On)
        }
    }
}
