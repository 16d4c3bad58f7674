//! The api-versions, and in what they differ.
//!
//! The three descriptions of the API, and the recordings of all three versions, differ in little: bodies and statuses of
//! jobs and histories are the same. Each version has a module that holds what is its own. Requests are read the same
//! way in every version, so that what a client of one version has read a client of another can write back.
//!
//! ```
//! use model::Plan;
//! use wire::version::Version;
//!
//! let old = Version::read("2016-01-01").expect("known");
//! assert_eq!(old.plan_name(Plan::P20Premium), "Premium");
//! assert_eq!(Version::default().plan_name(Plan::P20Premium), "P20Premium");
//! ```

mod v2014_08_01_preview;
mod v2016_01_01;
mod v2016_03_01;

use model::Plan;

/// An api-version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// The last.
    #[default]
    V2016_03_01,
    /// The one before.
    V2016_01_01,
    /// The first.
    V2014_08_01Preview,
}

/// What is a version's own.
struct Differences {
    name: &'static str,
    /// What its description and its answers call the plans.
    plan_name: fn(Plan) -> &'static str,
}

impl Version {
    /// All of them, the newest first, as the provider lists them (ProviderMicrosoftScheduler).
    pub const ALL: [Self; 3] = [Self::V2016_03_01, Self::V2016_01_01, Self::V2014_08_01Preview];

    /// Reads its name, in any case.
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name().eq_ignore_ascii_case(text))
    }

    /// As in the query.
    pub const fn name(self) -> &'static str {
        self.differences().name
    }

    /// What it calls a plan.
    pub fn plan_name(self, plan: Plan) -> &'static str {
        (self.differences().plan_name)(plan)
    }

    const fn differences(self) -> &'static Differences {
        match self {
            Self::V2016_03_01 => &v2016_03_01::DIFFERENCES,
            Self::V2016_01_01 => &v2016_01_01::DIFFERENCES,
            Self::V2014_08_01Preview => &v2014_08_01_preview::DIFFERENCES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_plans() {
        let plans = |version: Version| Plan::ALL.map(|plan| version.plan_name(plan)).join(" ");
        for (name, expected) in [
            ("2016-03-01", "Free Standard P10Premium P20Premium"),
            ("2016-01-01", "Free Standard Premium Premium"),
            ("2014-08-01-Preview", "Free Standard Premium Premium"),
        ] {
            assert_eq!(plans(Version::read(name).expect("known")), expected);
        }
        for unknown in ["", "2014-08-01", "2016-03-01 ", "2016-03-02"] {
            assert_eq!(Version::read(unknown), None);
        }
    }
}
