//! Lists the constructors that take a given space, and the constructors of measurements with a
//! given privacy measure.

use std::sync::Arc;

use opendp_core::erased::AnyMeasure;
use opendp_core::{Arg, Kind, Result};
use serde_json::Value as Json;

use crate::{Document, Entry, Registry};

impl Registry {
    /// Return the signatures that take a space, in order of name. Only the types of the space are
    /// compared. A constructor can require more, such as bounds or a known size. If the space does
    /// not satisfy such a requirement, the constructor returns an error that states the
    /// requirement.
    ///
    /// ```
    /// use opendp_registry::Registry;
    /// use opendp_transformations as _;
    /// use serde_json::json;
    ///
    /// let texts = json!({"vector_domain": {"atom_domain": {"T": "String"}}});
    /// let space = json!({"domain": texts, "metric": "symmetric_distance"});
    /// let takers = Registry::global().taking(&space)?;
    /// let takes = |name: &str| takers.iter().any(|entry| entry.name() == name);
    /// assert!(takes("make_count") && !takes("make_sum"));
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of reading the space.
    pub fn taking(&self, space: &Json) -> Result<Vec<Arc<Entry>>> {
        let here = Document::space(self, space)?;
        Ok(self.chained().into_iter().filter(|entry| entry.takes_space(&here)).collect())
    }
    /// Return the signatures of measurements that take the space `space` and have the privacy
    /// measure `measure`, in order of name. The list has no conversions between measures, because
    /// conversions take a measurement and not a space. [`suggest`](Registry::suggest) finds chains
    /// with conversions.
    ///
    /// ```
    /// use opendp_measurements as _;
    /// use opendp_registry::Registry;
    /// use serde_json::json;
    ///
    /// let number = json!({"atom_domain": {"T": "f64", "nan": false}});
    /// let space = json!({"domain": number, "metric": {"absolute_distance": {"T": "f64"}}});
    /// let rho = Registry::global().leading(&space, &"zero_concentrated_divergence".into())?;
    /// let leads = |name: &str| rho.iter().any(|entry| entry.name() == name);
    /// assert!(leads("make_gaussian") && !leads("make_laplace"));
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of reading the space and the measure.
    pub fn leading(&self, space: &Json, measure: &Json) -> Result<Vec<Arc<Entry>>> {
        let measure = Document::measure(self, measure)?;
        let leads = |entry: &Arc<Entry>| entry.leads_to(&measure);
        Ok(self.taking(space)?.into_iter().filter(leads).collect())
    }
    /// List every signature of a transformation or a measurement, in order of name.
    fn chained(&self) -> Vec<Arc<Entry>> {
        let names = self.names().into_iter();
        // If a name belongs to two functions, a chain cannot use this name. So its signatures are
        // left out.
        let all = names.filter_map(|name| self.signatures(&name).ok()).flatten();
        all.filter(|entry| matches!(entry.kind, Kind::Transformation | Kind::Measurement)).collect()
    }
}
impl Entry {
    /// Return whether the constructor has a parameter `input` that takes spaces with the same types
    /// as `here`.
    pub(crate) fn takes_space(&self, here: &Arg) -> bool {
        self.parameters.iter().any(|p| p.name == "input" && p.accepts(here))
    }
    /// Return whether the constructor makes measurements whose privacy measure is `measure`.
    pub(crate) fn leads_to(&self, measure: &AnyMeasure) -> bool {
        self.measure_type().is_some_and(|name| *name == measure.inner_type())
    }
    /// Return the type of the privacy measure that the constructed measurements have.
    pub(crate) fn measure_type(&self) -> Option<&opendp_core::TypeName> {
        match self.kind {
            Kind::Measurement => self.output.args().get(2),
            _ => None,
        }
    }
}
