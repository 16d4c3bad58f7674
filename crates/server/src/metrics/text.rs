//! The text that Prometheus reads, in its own form or as OpenMetrics.
//!
//! Both are the same lines but for a few: OpenMetrics names a counter's family without `_total`, and has an end. Which of
//! them is said by the request.

use std::fmt::Write as _;

use axum::http::{HeaderMap, header};
use measure::{Histogram, Unit};

/// Names and values.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

/// Which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Prometheus's own.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Form {
    /// The form that a request asks for. OpenMetrics only for those who name it: everybody else reads the other.
    pub(crate) fn asked(headers: &HeaderMap) -> Self {
        let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut kinds = accepts.flat_map(|value| value.split(','));
        let is_open = |kind: &str| {
            let mut parts = kind.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            name.eq_ignore_ascii_case("application/openmetrics-text")
                && parts.all(|part| quality(part).is_none_or(|quality| quality > 0.0))
        };
        if kinds.any(is_open) { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// Its media type.
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The number of `q=0.5`.
fn quality(part: &str) -> Option<f32> {
    part.strip_prefix("q=")?.trim().parse().ok()
}

/// What a family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A page that is being written. Writing to a string cannot fail.
#[derive(Debug)]
pub(super) struct Page {
    form: Form,
    text: String,
}

impl Page {
    pub(super) fn new(form: Form) -> Self {
        Self { form, text: String::with_capacity(1 << 14) }
    }

    /// Begins a family; its samples follow.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let name = match (self.form, kind) {
            (Form::OpenMetrics, Kind::Counter) => name.strip_suffix("_total").unwrap_or(name),
            _ => name,
        };
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
    }

    /// A sample of the family.
    pub(super) fn sample(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.line(name, "", labels, None, value);
    }

    /// The samples of a histogram of the family.
    pub(super) fn histogram(&mut self, name: &str, labels: Labels<'_>, histogram: &Histogram) {
        let scale = match histogram.unit() {
            Unit::Seconds => 1e9,
            Unit::Items => 1.0,
        };
        let read = histogram.read();
        let mut count = 0;
        let bounds = histogram.bounds().iter().map(|bound| format!("{:?}", *bound as f64 / scale));
        for (bound, more) in bounds.chain(["+Inf".to_owned()]).zip(&read.counts) {
            count += more;
            self.line(name, "_bucket", labels, Some(&bound), count as f64);
        }
        self.line(name, "_sum", labels, None, read.sum as f64 / scale);
        self.line(name, "_count", labels, None, count as f64);
    }

    /// A family of one gauge.
    pub(super) fn gauge(&mut self, name: &str, help: &str, labels: Labels<'_>, value: f64) {
        self.family(name, Kind::Gauge, help);
        self.sample(name, labels, value);
    }

    /// A family of one counter.
    pub(super) fn counter(&mut self, name: &str, help: &str, labels: Labels<'_>, value: u64) {
        self.family(name, Kind::Counter, help);
        self.sample(name, labels, value as f64);
    }

    /// All of it.
    pub(super) fn end(mut self) -> String {
        if self.form == Form::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    fn line(&mut self, name: &str, suffix: &str, labels: Labels<'_>, bound: Option<&str>, value: f64) {
        self.text.push_str(name);
        self.text.push_str(suffix);
        let mut sign = '{';
        for (name, value) in labels.iter().copied().chain(bound.map(|bound| ("le", bound))) {
            self.text.push(sign);
            let _ = write!(self.text, "{name}=\"");
            for character in value.chars() {
                match character {
                    '\\' => self.text.push_str("\\\\"),
                    '"' => self.text.push_str("\\\""),
                    '\n' => self.text.push_str("\\n"),
                    character => self.text.push(character),
                }
            }
            self.text.push('"');
            sign = ',';
        }
        if sign == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn asked(accept: &str) -> Form {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(accept).expect("a header"));
        Form::asked(&headers)
    }

    #[test]
    fn a_form_is_asked_for_by_name() {
        assert_eq!(Form::asked(&HeaderMap::new()), Form::Prometheus);
        for (accept, form) in [
            ("*/*", Form::Prometheus),
            ("text/html,application/xml;q=0.9", Form::Prometheus),
            (
                "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5",
                Form::OpenMetrics,
            ),
            ("text/plain, Application/OpenMetrics-Text", Form::OpenMetrics),
            ("application/openmetrics-text;q=0, text/plain", Form::Prometheus),
        ] {
            assert_eq!(asked(accept), form, "{accept}");
        }
    }

    #[test]
    fn both_forms_of_a_page() {
        static BOUNDS: [u64; 2] = [1_000_000, 2_000_000_000];
        let durations = Histogram::new(Unit::Seconds, &BOUNDS);
        durations.add(500_000);
        durations.add(1_500_000);
        durations.add(3_000_000_000);
        let told = |form| {
            let mut page = Page::new(form);
            page.counter("things_total", "Things.", &[("name", "a\\b\"c\nd")], 7);
            page.family("took_seconds", Kind::Histogram, "Time.");
            page.histogram("took_seconds", &[("kind", "x")], &durations);
            page.gauge("level", "Level.", &[], -0.5);
            page.end()
        };
        let samples = r#"things_total{name="a\\b\"c\nd"} 7
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{kind="x",le="0.001"} 1
took_seconds_bucket{kind="x",le="2.0"} 2
took_seconds_bucket{kind="x",le="+Inf"} 3
took_seconds_sum{kind="x"} 3.002
took_seconds_count{kind="x"} 3
# HELP level Level.
# TYPE level gauge
level -0.5
"#;
        let own = format!("# HELP things_total Things.\n# TYPE things_total counter\n{samples}");
        assert_eq!(told(Form::Prometheus), own);
        let open = format!("# HELP things Things.\n# TYPE things counter\n{samples}# EOF\n");
        assert_eq!(told(Form::OpenMetrics), open);
    }
}
