//! OAuth: tokens for calls in the name of a client of a directory.
//!
//! A token is asked for once and used by all calls of the same client until shortly before it expires. Whoever comes
//! while it is being asked for waits for the answer, good or bad. A bad answer is told to all who come within a moment
//! after it as well: a thousand jobs whose authority is down must not become a thousand questions.
//!
//! [`grant`] knows the words, [`settings`] where to go; this file remembers.

mod grant;
mod settings;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ::http::{HeaderValue, Uri};
use model::{Clock, Secret, Timestamp};
use ring::digest;
use tokio::sync::watch;

pub use self::settings::{Authority, OauthSettings};
use crate::{
    fault::{Fault, Kind},
    http::{Http, Limits, uri},
    settings::SettingsError,
};

/// How many tokens are kept; the one that was not used for longest goes.
const KEPT: usize = 1024;

/// How long before its end a token is not used any more, unless a quarter of its life is less: longer than a call
/// takes to arrive.
const MARGIN: Duration = Duration::from_secs(60);

/// How long nobody asks again after an answer. Retries of jobs come later than this.
const PAUSE: Duration = Duration::from_secs(1);

/// Bytes of an authority's answer: tokens are a few kilobytes.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Who wants a token, and for whom.
#[derive(Clone, Copy)]
pub(crate) struct Applicant<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) secret: &'a Secret,
}

/// A token asked for.
struct Question<'a> {
    who: Applicant<'a>,
    endpoint: Uri,
    /// What is wanted: the name of the field, `resource` or `scope`, and its value.
    wanted: (&'static str, String),
}

/// A token.
pub(crate) struct Token {
    /// The whole header: `Bearer …`.
    pub(crate) bearer: HeaderValue,
    granted_at: Timestamp,
    until: Timestamp,
}

/// A question as a digest: no secret lies here for longer than a call needs it.
type Key = [u8; digest::SHA256_OUTPUT_LEN];

type Place = watch::Sender<State>;

/// What is known about the answer to a question.
#[derive(Clone)]
enum State {
    Nothing,
    Asking,
    Granted(Arc<Token>),
    Refused(Refused),
}

#[derive(Clone)]
struct Refused {
    fault: Fault,
    at: Timestamp,
    /// When it may be asked again.
    again_at: Timestamp,
}

/// What is to be done about it.
enum Step {
    Use(Arc<Token>),
    Fail(Fault),
    Wait,
    Ask,
}

impl State {
    fn step(&self, now: Timestamp) -> Step {
        match self {
            Self::Asking => Step::Wait,
            Self::Granted(token) if now < token.until => Step::Use(Arc::clone(token)),
            // A clock that was set back must not make a pause of an hour.
            Self::Refused(refused) if (refused.at..refused.again_at).contains(&now) => {
                Step::Fail(refused.fault.clone())
            }
            _ => Step::Ask,
        }
    }
}

/// Gets tokens, and keeps them.
pub(crate) struct Tokens {
    settings: OauthSettings,
    clock: Arc<dyn Clock>,
    /// The last used first.
    known: Mutex<VecDeque<(Key, Arc<Place>)>>,
}

impl Tokens {
    pub(crate) fn new(settings: OauthSettings, clock: Arc<dyn Clock>) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self { settings, clock, known: Mutex::default() })
    }

    /// The host that is asked for an applicant's token.
    pub(crate) fn host(&self, who: Applicant<'_>) -> Result<String, Fault> {
        Ok(uri::host(&self.settings.question(who)?.endpoint).to_owned())
    }

    /// A token that still holds for a while.
    pub(crate) async fn token(&self, http: &Http, who: Applicant<'_>) -> Result<Arc<Token>, Fault> {
        let question = self.settings.question(who)?;
        let place = self.place(question.key());
        let mut news = place.subscribe();
        loop {
            match self.step(&place) {
                Step::Use(token) => return Ok(token),
                Step::Fail(fault) => return Err(fault),
                Step::Ask => {
                    let asking = Asking { place: &place, is_open: true };
                    return asking.end(self.ask(http, &question).await);
                }
                Step::Wait => {
                    let ended = news.wait_for(|state| !matches!(state, State::Asking)).await;
                    match ended.as_deref() {
                        Ok(State::Granted(token)) => return Ok(Arc::clone(token)),
                        Ok(State::Refused(refused)) => return Err(refused.fault.clone()),
                        // Who asked was given up before there was an answer; somebody else does it.
                        _ => {}
                    }
                }
            }
        }
    }

    /// Drops a token that a called side does not accept, and says whether it makes sense to get another: not when this
    /// one came after the attempt had begun, nor when it came just now. So a target that accepts none costs at most
    /// one question a second.
    pub(crate) fn give_up(&self, who: Applicant<'_>, token: &Arc<Token>, began: Timestamp) -> bool {
        if token.granted_at >= began || self.clock.now() < after(token.granted_at, PAUSE) {
            return false;
        }
        let Ok(question) = self.settings.question(who) else { return false };
        self.place(question.key()).send_if_modified(|state| {
            // Another one may have been here before.
            let is_it = matches!(state, State::Granted(known) if Arc::ptr_eq(known, token));
            if is_it {
                *state = State::Nothing;
            }
            is_it
        });
        true
    }

    fn step(&self, place: &Place) -> Step {
        let now = self.clock.now();
        let mut step = Step::Wait;
        place.send_if_modified(|state| {
            step = state.step(now);
            if matches!(step, Step::Ask) {
                *state = State::Asking;
            }
            // Nobody waits for the beginning of a question.
            false
        });
        step
    }

    async fn ask(&self, http: &Http, question: &Question<'_>) -> Result<Arc<Token>, Refused> {
        let limits =
            Limits { timeout: self.settings.timeout, body: LONGEST_ANSWER as u64, kept: LONGEST_ANSWER };
        let answer = http.exchange_within(grant::request(question), limits).await;
        let now = self.clock.now();
        let (why, pause) = match answer.map(|(head, body)| grant::read(&head, &body, question.who)) {
            Ok(Ok(grant)) => {
                let holds = grant.lifetime - MARGIN.min(grant.lifetime / 4);
                let token = Token { bearer: grant.bearer, granted_at: now, until: after(now, holds) };
                return Ok(Arc::new(token));
            }
            Ok(Err(refusal)) => (refusal.words, refusal.pause.max(PAUSE)),
            Err(fault) => (fault.to_string(), PAUSE),
        };
        let cause = format!("no token from the authority '{}': {why}", uri::host(&question.endpoint));
        let fault = Fault::new(Kind::UnknownError, cause);
        Err(Refused { fault, at: now, again_at: after(now, pause) })
    }

    fn place(&self, key: Key) -> Arc<Place> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().position(|(other, _)| *other == key).and_then(|at| known.remove(at));
        let (key, place) = found.unwrap_or_else(|| (key, Arc::new(Place::new(State::Nothing))));
        known.truncate(KEPT - 1);
        known.push_front((key, Arc::clone(&place)));
        place
    }
}

impl Question<'_> {
    fn key(&self) -> Key {
        let (field, wanted) = &self.wanted;
        let mut context = digest::Context::new(&digest::SHA256);
        for part in
            [&self.endpoint.to_string(), self.who.client_id, self.who.secret.expose(), field, wanted.as_str()]
        {
            // The length keeps two parts from passing for two others.
            context.update(&part.len().to_be_bytes());
            context.update(part.as_bytes());
        }
        let mut key = Key::default();
        key.copy_from_slice(context.finish().as_ref());
        key
    }
}

/// The question of one, for all. Who asks may be given up at any moment; then the next one asks.
struct Asking<'a> {
    place: &'a Place,
    is_open: bool,
}

impl Asking<'_> {
    /// Tells all who wait.
    fn end(mut self, answer: Result<Arc<Token>, Refused>) -> Result<Arc<Token>, Fault> {
        self.is_open = false;
        self.place.send_replace(match &answer {
            Ok(token) => State::Granted(Arc::clone(token)),
            Err(refused) => State::Refused(refused.clone()),
        });
        answer.map_err(|refused| refused.fault)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.place.send_replace(State::Nothing);
        }
    }
}

fn after(at: Timestamp, duration: Duration) -> Timestamp {
    at.checked_add(duration).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
    }

    fn key(number: u32) -> Key {
        let mut key = Key::default();
        key[..4].copy_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn the_token_that_was_not_used_for_longest_goes() {
        let tokens = Tokens::new(OauthSettings::default(), Arc::new(Still)).unwrap();
        let (first, second) = (tokens.place(key(0)), tokens.place(key(1)));
        for number in 2..=KEPT as u32 {
            assert!(Arc::ptr_eq(&first, &tokens.place(key(0))), "it is used all the time");
            tokens.place(key(number));
        }
        assert_eq!(tokens.known.lock().unwrap().len(), KEPT);
        assert!(!Arc::ptr_eq(&second, &tokens.place(key(1))), "it was not");
    }
}
