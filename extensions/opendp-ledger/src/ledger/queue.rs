//! Releases that wait until they are written to the ledger.

use std::sync::{Arc, Mutex, PoisonError};

use opendp_core::{Error, Result};

use super::check::Earlier;
use super::{Ledger, lock};
use crate::decide::{Decision, charge, decide_all, kept};
use crate::store::Tables;
use crate::{Entry, Request};

/// A release that waits until it is written to the ledger.
pub(super) struct Job {
    budget: String,
    request: Request,
    release: String,
    /// The text to keep if there is no room for the release. If this text is the release itself,
    /// nothing is charged without room for the release.
    spare: String,
    answer: Mutex<Option<Result<(Entry, bool)>>>,
}
impl Ledger {
    /// Compute a text, charge the loss of the request, and keep the text. Return the entry, and
    /// whether it was kept earlier. If there is no room for the text, keep `spare` instead. If
    /// `spare` is `None`, the length of the text must not depend on the data.
    pub(crate) fn kept(
        &self,
        budget: &str,
        request: &Request,
        compute: impl FnOnce() -> Result<String>,
        spare: Option<&str>,
    ) -> Result<(Entry, bool)> {
        // Before the data are read, refuse a request that cannot succeed. The final decision is
        // made below.
        let release = match self.earlier(budget, request)? {
            Earlier::Entry(entry) => return Ok((*entry, true)),
            Earlier::Release(release) => release,
            Earlier::Nothing => compute()?,
        };
        let job = Arc::new(Job {
            budget: budget.into(),
            request: request.clone(),
            spare: spare.unwrap_or(&release).to_owned(),
            release,
            answer: Mutex::new(None),
        });
        lock(&self.queue).push_back(job.clone());
        self.answer(&job)
    }
    /// Return the answer to a job. Threads lock `turn` one after the other. If another thread has
    /// already written the job, the answer is ready. Otherwise, this thread writes the jobs of all
    /// waiting threads, with one sync.
    fn answer(&self, job: &Job) -> Result<(Entry, bool)> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = lock(&job.answer).take() {
            return answer;
        }
        let jobs = std::mem::take(&mut *lock(&self.queue));
        let mut answers = Vec::new();
        let written = self.store.write_or_spare(&mut |tables| {
            answers.clear();
            for job in &jobs {
                // A refused job changes nothing, and does not affect the other jobs.
                answers.push(self.decided(tables, job)?);
            }
            Ok(())
        });
        match written {
            Ok(spared) => {
                for (job, answer) in jobs.iter().zip(answers) {
                    let answer = match answer {
                        Ok((_, repeated)) if spared => self.read_again(job, repeated),
                        answer => answer,
                    };
                    *lock(&job.answer) = Some(answer);
                }
            }
            Err(error) => {
                for job in &jobs {
                    *lock(&job.answer) = Some(Err(error.clone()));
                }
            }
        }
        let answer = lock(&job.answer).take();
        answer.unwrap_or_else(|| Err(lost()))
    }
    /// Decide about a job, and charge it to all its budgets, or to none. The outer error stops all
    /// jobs.
    fn decided(&self, tables: &mut dyn Tables, job: &Job) -> Result<Result<(Entry, bool)>> {
        let decided = decide_all(tables, &job.budget, &job.request, &|| self.now());
        let (earlier, decisions) = match decided.and_then(|made| Ok((kept(&made)?, made))) {
            Ok(decided) => decided,
            Err(error) => return Ok(Err(error)),
        };
        // If some of the budgets keep a release already, the others are charged for this release.
        let release = earlier.as_deref().unwrap_or(&job.release);
        let mut last = Err(lost());
        for decision in decisions {
            last = Ok(match decision {
                Decision::Repeat(entry) => *entry,
                Decision::Charge(mut account, now) => {
                    charge(tables, &mut account, now, &job.request, [release, &job.spare])?
                }
            });
        }
        Ok(last.map(|entry| (entry, earlier.is_some())))
    }
    /// Read the entry of a job after the spare texts were kept.
    fn read_again(&self, job: &Job, repeated: bool) -> Result<(Entry, bool)> {
        let entry = self.entry(&job.budget, &job.request.id)?;
        Ok((entry.ok_or_else(lost)?, repeated))
    }
}
#[cold]
fn lost() -> Error {
    Error::FailedFunction("the ledger lost a request".into())
}
