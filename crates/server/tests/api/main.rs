//! The API through its front door: the real router, on the real store, without a socket.
//!
//! `limits`, `plans` and `lists` go through every limit at its edge. `mutated` sends what nobody would send on purpose.
//! `described` holds the API's own description against what is answered. `switched` is about the state of
//! collections, `headers` about headers, `health` about probes, `hops` about the calls of jobs and runs by request; `enum_case`, `versions`, `paging`, `races`, `rates`, `groups` and
//! `surroundings` are about what clients of different kinds and ages take for granted. `imports` writes many resources at
//! once; `previews` asks when jobs run, `searches` for some of all jobs; `watched` is about what happens now, `metrics` about
//! what was counted, `notices` about jobs in trouble, `rules` about whom that is told, `overviews`
//! about how it went, `off` about what is off now; `trials` makes calls without a job, `settings` asks how the server is set; `portal` is about the
//! pages, and about pages of others; `roles` and `matrix` are about who may do what and what is noted of it, `sessions`
//! about browsers that are signed in, `issuers` about tokens of others,
//! `referrals` about browsers that sign in there; `absent` asks for what does not exist, `paused` how jobs stand that are off,
//! `strict` is about changes that are read strictly or only tried.

mod absent;
mod described;
mod door;
mod enum_case;
mod groups;
mod headers;
mod health;
mod hops;
mod imports;
mod issuers;
mod limits;
mod lists;
mod matrix;
mod metrics;
mod mutated;
mod notices;
mod off;
mod overviews;
mod paging;
mod paused;
mod plans;
mod portal;
mod previews;
mod races;
mod rates;
mod referrals;
mod roles;
mod rules;
mod searches;
mod sessions;
mod settings;
mod streams;
mod strict;
mod surroundings;
mod switched;
mod trials;
mod versions;
mod waiting;
mod watched;
mod world;
