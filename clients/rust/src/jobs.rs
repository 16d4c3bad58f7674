//! Jobs: written, read, changed, listed, run; and their histories.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Checked, Conformance, check, ensure, same, text};
use crate::api::{Asked, Deed};
use crate::cases::merge;

/// A run by hand begins at once; a machine may be busy.
const LONGEST_RUN: Duration = Duration::from_secs(120);

impl Conformance {
    pub(super) async fn write_jobs(&self) {
        check("collection put", "jobs", async {
            let home = self
                .cases
                .sayable(&json!({"location": "West US", "properties": {"sku": {"name": "P10Premium"}}}));
            self.api.put_collection("jobs", &home).await.map(drop).map_err(String::from)
        })
        .await;
        for (name, body) in self.cases.bodies("jobs") {
            let expected = self.cases.expected(&self.cases.part("jobs")[&name]);
            check("job put", &name, async {
                self.said(&body, self.api.job_model(&body))?;
                let put = self.api.put_job("jobs", &name, &body).await?;
                same(&expected, &self.read(&put))?;
                ensure(put["name"] == format!("jobs/{name}"), put.to_string())?;
                ensure(put["type"] == "Microsoft.Scheduler/jobCollections/jobs", put.to_string())?;
                let is_disabled = expected["properties"]["state"] == "disabled";
                ensure(put["properties"].get("status").is_none() == is_disabled, put.to_string())
            })
            .await;
            check("job get", &name, async {
                same(&expected, &self.read(&self.api.job("jobs", &name).await?))
            })
            .await;
        }
    }

    pub(super) async fn rewrite_jobs(&self) {
        let (again, patch) = (self.cases.part("jobAgain"), self.cases.part("jobPatch"));
        check("job put again", text(again, "of"), async {
            let expected = self.cases.expected(again);
            let body = self.cases.sayable(&again["body"]);
            same(&expected, &self.read(&self.api.put_job("jobs", text(again, "of"), &body).await?))?;
            same(&expected, &self.read(&self.api.job("jobs", text(again, "of")).await?))
        })
        .await;
        // The crate writes `null` for times that are not there, and `null` in a patch removes: who patches with it has to
        // send them along, as this patch does.
        check("job patch", text(patch, "of"), async {
            let mut expected = self.cases.expected(&self.cases.part("jobs")[text(patch, "of")]);
            merge(&mut expected, &self.cases.expected(patch));
            let body = self.cases.sayable(&patch["body"]);
            same(&expected, &self.read(&self.api.patch_job("jobs", text(patch, "of"), &body).await?))?;
            same(&expected, &self.read(&self.api.job("jobs", text(patch, "of")).await?))
        })
        .await;
    }

    pub(super) async fn names(&self, asked: Asked) -> Result<Vec<String>, String> {
        let found = self.api.jobs("jobs", asked).await?;
        Ok(found.iter().map(|job| text(job, "name").trim_start_matches("jobs/").to_owned()).collect())
    }

    pub(super) async fn list_jobs(&self) {
        let mut written: Vec<_> = self.cases.bodies("jobs").into_iter().map(|(name, _)| name).collect();
        written.sort();
        check("jobs", "all", async {
            let found = self.names(Asked::default()).await?;
            ensure(found == written, format!("{found:?}"))?;
            for one in self.api.jobs("jobs", Asked::default()).await? {
                let name = text(&one, "name").trim_start_matches("jobs/");
                same(&self.read(&self.api.job("jobs", name).await?), &self.read(&one))?;
            }
            Ok(())
        })
        .await;
        let mut disabled = vec!["http-disabled", text(self.cases.part("jobPatch"), "of")];
        disabled.sort_unstable();
        let (first, filter) = (written.as_slice(), |text: &str| Some(text.to_owned()));
        for (name, asked, expected) in [
            ("in pages of 3", Asked { top: Some(3), ..Asked::default() }, first),
            ("without the first 5", Asked { skip: Some(5), ..Asked::default() }, &first[5..]),
        ] {
            check("jobs", name, async {
                let found = self.names(asked).await?;
                ensure(found == expected, format!("{found:?}"))
            })
            .await;
        }
        check("jobs", "disabled ones", async {
            let found = self.names(Asked { filter: filter("state eq Disabled"), ..Asked::default() }).await?;
            ensure(found == disabled, format!("{found:?}"))?;
            let asked = Asked { filter: filter("state eq 'disabled'"), top: Some(1), skip: None };
            let found = self.names(asked).await?;
            ensure(found == disabled, format!("{found:?}"))
        })
        .await;
    }

    pub(super) async fn run_jobs(&self) {
        for (name, entries, failures) in [("completes", 1, 0), ("fails", 2, 2)] {
            check("job run", name, async {
                let body = self.cases.sayable(&self.cases.part("runs")[name]["body"]);
                self.api.put_job("jobs", name, &body).await?;
                for runs in 1..=2 {
                    self.api.do_job("jobs", name, Deed::Run).await?;
                    self.wait_for_history(name, runs * entries).await?;
                }
                let status = &self.api.job("jobs", name).await?["properties"]["status"];
                let counts =
                    ["executionCount", "failureCount", "faultedCount"].map(|count| status[count].as_i64());
                ensure(counts == [Some(2), Some(failures), Some(failures)], status.to_string())?;
                ensure(status["lastExecutionTime"].is_string(), status.to_string())?;
                ensure(status["nextExecutionTime"].is_string(), status.to_string())
            })
            .await;
        }
    }

    async fn wait_for_history(&self, name: &str, entries: usize) -> Checked {
        let waiting = async {
            while self.api.history("jobs", name, Asked::default()).await?.len() < entries {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        };
        let in_time = tokio::time::timeout(LONGEST_RUN, waiting).await;
        in_time.unwrap_or_else(|_| Err(format!("no {entries} entries after {LONGEST_RUN:?}")))
    }

    pub(super) async fn read_history(&self) {
        let history = async |name: &str, asked: Asked| {
            self.api.history("jobs", name, asked).await.map_err(String::from)
        };
        let said = |entries: &[Value]| -> Vec<String> {
            let said = |entry: &Value| {
                // An entry without a status completed.
                let status = entry["properties"].get("status").and_then(Value::as_str).unwrap_or("Completed");
                format!("{} {status}", text(&entry["properties"], "actionName"))
            };
            entries.iter().map(said).collect()
        };
        let (completed, failed, handled) =
            ("MainAction Completed", "MainAction Failed", "ErrorAction Completed");
        check("history", "of a job that completes", async {
            let found = history("completes", Asked::default()).await?;
            ensure(said(&found) == [completed, completed], format!("{:?}", said(&found)))?;
            let newest = &found[0]["properties"];
            ensure(newest["repeatCount"] == 2 && newest["retryCount"] == 0, newest.to_string())?;
            ensure(
                ["startTime", "endTime", "expectedExecutionTime"].iter().all(|time| newest[time].is_string()),
                newest.to_string(),
            )?;
            ensure(text(newest, "message").contains("hello"), newest.to_string())?;
            ensure(text(&found[0], "name").starts_with("jobs/completes/"), found[0].to_string())
        })
        .await;
        check("history", "of a job that fails", async {
            let found = history("fails", Asked::default()).await?;
            ensure(said(&found) == [handled, failed, handled, failed], format!("{:?}", said(&found)))
        })
        .await;
        check("history", "in pages of 1", async {
            let all = history("fails", Asked::default()).await?;
            let paged = history("fails", Asked { top: Some(1), ..Asked::default() }).await?;
            ensure(paged == all, format!("{} of {}", paged.len(), all.len()))?;
            ensure(
                history("fails", Asked { skip: Some(3), ..Asked::default() }).await? == all[3..],
                "skipped others",
            )
        })
        .await;
        check("history", "filtered", async {
            let newest = &history("fails", Asked::default()).await?[1];
            let since = format!("startTime ge {}", text(&newest["properties"], "startTime"));
            for (filter, expected) in [
                ("status eq Failed", vec![failed, failed]),
                ("status eq 'Completed'", vec![handled, handled]),
                ("actionName eq ErrorAction and status eq Completed", vec![handled, handled]),
                ("status eq Failed and actionName eq ErrorAction", vec![]),
                (&since, vec![handled, failed]),
            ] {
                let found =
                    history("fails", Asked { filter: Some(filter.to_owned()), ..Asked::default() }).await?;
                ensure(said(&found) == expected, format!("{filter}: {:?}", said(&found)))?;
            }
            Ok(())
        })
        .await;
    }
}
