//! The files of the portal. A test holds this list against the folder.

/// A file as it is compiled in.
pub(super) struct File {
    /// Its path in the folder, and in the URL.
    pub(super) name: &'static str,
    pub(super) bytes: &'static [u8],
    pub(super) kind: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! file {
    ($name:literal, $kind:expr) => {
        File { name: $name, bytes: include_bytes!(concat!("../../portal/", $name)), kind: $kind }
    };
}

/// The one page.
pub(super) const PAGE: File = file!("index.html", "text/html; charset=utf-8");

/// What it loads.
pub(super) const FILES: &[File] = &[
    file!("api.js", SCRIPT),
    file!("app.js", SCRIPT),
    file!("csv.js", SCRIPT),
    file!("dom.js", SCRIPT),
    file!("forms.css", STYLE),
    file!("icon.svg", PICTURE),
    file!("job/action-facts.js", SCRIPT),
    file!("job/action-form.js", SCRIPT),
    file!("job/authentication-form.js", SCRIPT),
    file!("job/draft.js", SCRIPT),
    file!("job/faults.js", SCRIPT),
    file!("job/history.js", SCRIPT),
    file!("job/overview.js", SCRIPT),
    file!("job/recurrence-form.js", SCRIPT),
    file!("job/runs.js", SCRIPT),
    file!("job/schedule-panel.js", SCRIPT),
    file!("job/wall.js", SCRIPT),
    file!("job/where-form.js", SCRIPT),
    file!("live.js", SCRIPT),
    file!("pages/audit.js", SCRIPT),
    file!("pages/collection.js", SCRIPT),
    file!("pages/collections.js", SCRIPT),
    file!("pages/editor.js", SCRIPT),
    file!("pages/home.js", SCRIPT),
    file!("pages/job.js", SCRIPT),
    file!("pages/jobs.js", SCRIPT),
    file!("pages/ledger.js", SCRIPT),
    file!("pages/nodes.js", SCRIPT),
    file!("pages/notices.js", SCRIPT),
    file!("pages/settings.js", SCRIPT),
    file!("parts/basics.js", SCRIPT),
    file!("parts/collection-form.js", SCRIPT),
    file!("parts/dialogs.js", SCRIPT),
    file!("parts/fields.js", SCRIPT),
    file!("parts/job-table.js", SCRIPT),
    file!("parts/lists.js", SCRIPT),
    file!("parts/plots.js", SCRIPT),
    file!("parts/rule-form.js", SCRIPT),
    file!("parts/waiting.js", SCRIPT),
    file!("router.js", SCRIPT),
    file!("session.js", SCRIPT),
    file!("style.css", STYLE),
    file!("theme.js", SCRIPT),
    file!("time.js", SCRIPT),
    file!("verdict.js", SCRIPT),
];
