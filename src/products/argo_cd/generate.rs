//! The applications that the generators of an ApplicationSet produce for a fleet.
//!
//! Supported are `clusters`, `list`, `matrix` and `merge`, each with an optional selector. Each generator yields
//! parameter sets, and the template produces one application from each. The template's destination names the
//! application's cluster. Follows `applicationset/generators/{cluster,list,matrix,merge,generator_spec_processor}.go`
//! of argoproj/argo-cd. Rejected, because a simulated fleet lacks their input: generators that read repositories,
//! forges or other objects, templates of single generators, and several applications in one cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::rollout::label_selector::{LabelSelector, Labels};

/// The label that marks a Secret as a cluster's declaration, and its value.
const SECRET_TYPE: (&str, &str) = ("argocd.argoproj.io/secret-type", "cluster");

/// The address of the cluster that Argo CD itself runs in.
pub(crate) const LOCAL_SERVER: &str = "https://kubernetes.default.svc";

/// The name of the cluster that Argo CD itself runs in.
pub(crate) const LOCAL_NAME: &str = "in-cluster";

/// Parameters of the template by name, such as `name`, `metadata.labels.env` or `values.zone`.
pub(crate) type TemplateParameters = BTreeMap<String, String>;

/// A cluster that Argo CD knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownCluster<'c> {
    pub(crate) name: &'c str,
    /// The cluster's address. If `None`, `https://` followed by the name is used.
    pub(crate) server: Option<&'c str>,
    pub(crate) labels: &'c Labels,
}

impl KnownCluster<'_> {
    fn server(&self) -> String {
        match self.server {
            Some(server) => server.to_owned(),
            None => format!("https://{}", self.name),
        }
    }

    fn is_local(&self) -> bool {
        self.server == Some(LOCAL_SERVER) || self.name == LOCAL_NAME
    }
}

/// An application of a set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GeneratedApplication {
    /// The index of the application's cluster among the known clusters.
    pub(crate) cluster: usize,
    pub(crate) parameters: TemplateParameters,
}

/// The applications of a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GeneratedSet {
    /// The applications in the order of the clusters.
    pub(crate) applications: Vec<GeneratedApplication>,
    /// The parameters for the local cluster's application, if a generator yields one. The local cluster is not among
    /// the known clusters.
    pub(crate) local: Option<TemplateParameters>,
}

/// The reason why the applications cannot be computed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GenerateError {
    /// The field in the set, such as `spec.generators[0].git`.
    pub(crate) field: String,
    pub(crate) message: String,
}

impl GenerateError {
    fn new(field: &str, message: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            message: message.into(),
        }
    }
}

/// A parameter set, and the cluster for which a `clusters` generator yielded it.
#[derive(Clone, Debug, Default)]
struct ParameterSet {
    parameters: TemplateParameters,
    cluster: Option<usize>,
    is_local: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClustersFile {
    selector: Option<LabelSelector>,
    values: Option<Map<String, Value>>,
    flat_list: Option<bool>,
    template: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListFile {
    elements: Option<Vec<Map<String, Value>>>,
    elements_yaml: Option<String>,
    template: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NestedFile {
    generators: Option<Vec<Value>>,
    merge_keys: Option<Vec<String>>,
    template: Option<Value>,
}

/// Returns the applications of a set with the given `spec` for these clusters.
///
/// # Errors
/// Returns the first field that cannot be computed.
pub(crate) fn generate(
    spec: &Value,
    clusters: &[KnownCluster<'_>],
) -> Result<GeneratedSet, GenerateError> {
    let none = Vec::new();
    let generators = spec
        .get("generators")
        .and_then(Value::as_array)
        .unwrap_or(&none);
    let evaluation = Evaluation { clusters };
    let mut sets = Vec::new();
    for (at, generator) in generators.iter().enumerate() {
        let field = format!("spec.generators[{at}]");
        sets.extend(evaluation.sets(generator, &field)?);
    }
    let destination = spec.pointer("/template/spec/destination");
    let mut found: BTreeMap<usize, GeneratedApplication> = BTreeMap::new();
    let mut local = None;
    for set in sets {
        if set.is_local {
            local = Some(set.parameters);
            continue;
        }
        let cluster = evaluation.cluster_of(&set, destination)?;
        let application = GeneratedApplication {
            cluster,
            parameters: set.parameters,
        };
        if let Some(first) = found.insert(cluster, application.clone())
            && first != application
        {
            let message = format!(
                "the set creates several applications for the cluster {}, but each entry of the fleet is one application",
                clusters[cluster].name
            );
            return Err(GenerateError::new(
                "spec.template.spec.destination",
                message,
            ));
        }
    }
    Ok(GeneratedSet {
        applications: found.into_values().collect(),
        local,
    })
}

/// Evaluates generators over the known clusters.
struct Evaluation<'e> {
    clusters: &'e [KnownCluster<'e>],
}

impl Evaluation<'_> {
    /// Returns the parameter sets that a generator yields, except those that its selector drops.
    fn sets(&self, generator: &Value, field: &str) -> Result<Vec<ParameterSet>, GenerateError> {
        let mut sets = self.unselected_sets(generator, field)?;
        let Some(written) = generator.get("selector").filter(|value| !value.is_null()) else {
            return Ok(sets);
        };
        let place = format!("{field}.selector");
        let selector: LabelSelector = read(written, &place)?;
        let selector = selector
            .check()
            .map_err(|error| GenerateError::new(&place, error.to_string()))?;
        sets.retain(|set| selector.matches(&set.parameters));
        Ok(sets)
    }

    fn unselected_sets(
        &self,
        generator: &Value,
        field: &str,
    ) -> Result<Vec<ParameterSet>, GenerateError> {
        let empty = Map::new();
        let parts = generator.as_object().unwrap_or(&empty);
        let kinds: Vec<&String> = parts.keys().filter(|key| *key != "selector").collect();
        let [kind] = kinds[..] else {
            let message = "a generator must have exactly one kind, e.g. `clusters`";
            return Err(GenerateError::new(field, message));
        };
        let place = format!("{field}.{kind}");
        // `clusters:` without a value is a generator whose fields all have their defaults.
        let written = match &parts[kind] {
            Value::Null => Value::Object(Map::new()),
            value => value.clone(),
        };
        match kind.as_str() {
            "clusters" => self.of_clusters(&read(&written, &place)?, &place),
            "list" => of_list(read(&written, &place)?, &place),
            "matrix" => self.of_matrix(read(&written, &place)?, &place),
            "merge" => self.of_merge(read(&written, &place)?, &place),
            _ => Err(GenerateError::new(
                &place,
                format!("the fleet has no data for the generator `{kind}`"),
            )),
        }
    }

    /// Returns one parameter set for each cluster whose Secret the selector matches. Without a selector, the local
    /// cluster also gets one.
    fn of_clusters(
        &self,
        file: &ClustersFile,
        field: &str,
    ) -> Result<Vec<ParameterSet>, GenerateError> {
        refuse_template(file.template.as_ref(), field)?;
        if file.flat_list == Some(true) {
            let message = "one application for all clusters does not belong to a cluster";
            return Err(GenerateError::new(&format!("{field}.flatList"), message));
        }
        let written = file.selector.clone().unwrap_or_default();
        let selects_all = written.match_labels.is_empty() && written.match_expressions.is_empty();
        let selector = written
            .check()
            .map_err(|error| GenerateError::new(&format!("{field}.selector"), error.to_string()))?;
        let mut sets = Vec::new();
        for (at, cluster) in self.clusters.iter().enumerate() {
            let mut labels = cluster.labels.clone();
            // The local cluster has no Secret, unless its labels include the Secret's.
            if !cluster.is_local() {
                labels.insert(SECRET_TYPE.0.to_owned(), SECRET_TYPE.1.to_owned());
            }
            if cluster.is_local() && selects_all || selector.matches(&labels) {
                sets.push(ParameterSet {
                    parameters: cluster_parameters(cluster),
                    cluster: Some(at),
                    is_local: false,
                });
            }
        }
        let declares_local = self.clusters.iter().any(KnownCluster::is_local);
        if selects_all && !declares_local {
            let no_labels = Labels::new();
            let local = KnownCluster {
                name: LOCAL_NAME,
                server: Some(LOCAL_SERVER),
                labels: &no_labels,
            };
            sets.push(ParameterSet {
                parameters: cluster_parameters(&local),
                cluster: None,
                is_local: true,
            });
        }
        for set in &mut sets {
            add_values(&mut set.parameters, file.values.as_ref(), field)?;
        }
        Ok(sets)
    }

    /// Combines each parameter set of the first generator with each one of the second.
    fn of_matrix(&self, file: NestedFile, field: &str) -> Result<Vec<ParameterSet>, GenerateError> {
        refuse_template(file.template.as_ref(), field)?;
        let generators = file.generators.unwrap_or_default();
        let [first, second] = &generators[..] else {
            let message = format!(
                "a matrix must have two generators, but this one has {}",
                generators.len()
            );
            return Err(GenerateError::new(field, message));
        };
        let mut sets = Vec::new();
        for outer in self.sets(first, &format!("{field}.generators[0]"))? {
            let place = format!("{field}.generators[1]");
            // The second generator may use parameters from the first.
            let inner = filled(second, &outer.parameters);
            for inner in self.sets(&inner, &place)? {
                let mut parameters = outer.parameters.clone();
                for (name, value) in inner.parameters {
                    if parameters.get(&name).is_some_and(|known| *known != value) {
                        let message = format!("both generators of the matrix have `{name}`");
                        return Err(GenerateError::new(field, message));
                    }
                    parameters.insert(name, value);
                }
                sets.push(ParameterSet {
                    parameters,
                    cluster: outer.cluster.or(inner.cluster),
                    is_local: outer.is_local || inner.is_local,
                });
            }
        }
        Ok(sets)
    }

    /// Returns the parameter sets of the first generator, each extended by later sets with the same merge keys.
    fn of_merge(&self, file: NestedFile, field: &str) -> Result<Vec<ParameterSet>, GenerateError> {
        refuse_template(file.template.as_ref(), field)?;
        let keys = file.merge_keys.unwrap_or_default();
        let generators = file.generators.unwrap_or_default();
        let first_and_others = generators.split_first().filter(|_| !keys.is_empty());
        let Some((first, others)) = first_and_others else {
            let message = "a merge must have generators and `mergeKeys`";
            return Err(GenerateError::new(field, message));
        };
        let mut base = self.sets(first, &format!("{field}.generators[0]"))?;
        for (at, other) in others.iter().enumerate() {
            let place = format!("{field}.generators[{}]", at + 1);
            let mut by_keys: BTreeMap<Vec<Option<String>>, TemplateParameters> = BTreeMap::new();
            for set in self.sets(other, &place)? {
                by_keys.insert(values_of(&set.parameters, &keys), set.parameters);
            }
            for set in &mut base {
                if let Some(more) = by_keys.get(&values_of(&set.parameters, &keys)) {
                    set.parameters.extend(more.clone());
                }
            }
        }
        Ok(base)
    }

    /// Returns the cluster that any parameter of a list's element names.
    fn named_by(&self, parameters: &TemplateParameters) -> Option<usize> {
        let texts: BTreeSet<&String> = parameters.values().collect();
        for (at, cluster) in self.clusters.iter().enumerate() {
            if texts.contains(&cluster.name.to_owned()) || texts.contains(&cluster.server()) {
                return Some(at);
            }
        }
        None
    }

    /// Returns the cluster that the destination names, or for which the parameter set was generated.
    fn cluster_of(
        &self,
        set: &ParameterSet,
        destination: Option<&Value>,
    ) -> Result<usize, GenerateError> {
        let Some(written) = written_destination(destination) else {
            return set.cluster.ok_or_else(|| {
                GenerateError::new(
                    "spec.template.spec",
                    "the template has no destination, so the cluster of an application is unknown",
                )
            });
        };
        let rendered = filled_text(written, &set.parameters);
        // Several clusters may share an address; then the parameter set's own cluster is used.
        if let Some(own) = set.cluster {
            let cluster = &self.clusters[own];
            if cluster.name == rendered || cluster.server() == rendered {
                return Ok(own);
            }
        }
        let named = self
            .clusters
            .iter()
            .position(|cluster| cluster.name == rendered || cluster.server() == rendered);
        if let Some(named) = named {
            return Ok(named);
        }
        let mut found = None;
        if written.contains("{{") {
            found = set.cluster.or_else(|| self.named_by(&set.parameters));
        }
        found.ok_or_else(|| {
            GenerateError::new(
                "spec.template.spec.destination",
                format!("`{rendered}` is not a cluster of the fleet"),
            )
        })
    }
}

fn read<T: serde::de::DeserializeOwned>(value: &Value, field: &str) -> Result<T, GenerateError> {
    serde_json::from_value(value.clone())
        .map_err(|error| GenerateError::new(field, format!("not valid for Argo CD: {error}")))
}

fn refuse_template(template: Option<&Value>, field: &str) -> Result<(), GenerateError> {
    let is_empty = match template {
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(value) => value.is_null(),
        None => true,
    };
    if is_empty {
        return Ok(());
    }
    Err(GenerateError::new(
        &format!("{field}.template"),
        "a template of a single generator is not supported",
    ))
}

/// Returns the server or name in a destination.
fn written_destination(destination: Option<&Value>) -> Option<&str> {
    for key in ["server", "name"] {
        if let Some(Value::String(text)) = destination?.get(key)
            && !text.is_empty()
        {
            return Some(text);
        }
    }
    None
}

fn cluster_parameters(cluster: &KnownCluster<'_>) -> TemplateParameters {
    let mut parameters = TemplateParameters::new();
    parameters.insert("name".to_owned(), cluster.name.to_owned());
    parameters.insert("nameNormalized".to_owned(), normalized(cluster.name));
    parameters.insert("server".to_owned(), cluster.server());
    for (key, value) in cluster.labels {
        parameters.insert(format!("metadata.labels.{key}"), value.clone());
    }
    parameters
}

/// Normalises a name to a valid DNS name, like `utils.SanitizeName`.
fn normalized(name: &str) -> String {
    let mut plain = String::new();
    for letter in name.to_lowercase().chars() {
        match letter {
            'a'..='z' | '0'..='9' | '-' | '.' => plain.push(letter),
            _ => plain.push('-'),
        }
    }
    plain.truncate(253);
    plain.trim_matches(['-', '.']).to_owned()
}

/// Adds `values`, whose texts may refer to parameters of the same set.
fn add_values(
    parameters: &mut TemplateParameters,
    values: Option<&Map<String, Value>>,
    field: &str,
) -> Result<(), GenerateError> {
    let mut added = TemplateParameters::new();
    for (key, value) in values.into_iter().flatten() {
        let Value::String(text) = value else {
            let message = format!("`{key}` must be a text");
            return Err(GenerateError::new(&format!("{field}.values"), message));
        };
        added.insert(format!("values.{key}"), filled_text(text, parameters));
    }
    parameters.extend(added);
    Ok(())
}

/// Returns one parameter set for each element of a list.
fn of_list(file: ListFile, field: &str) -> Result<Vec<ParameterSet>, GenerateError> {
    refuse_template(file.template.as_ref(), field)?;
    let mut elements = file.elements.unwrap_or_default();
    if let Some(yaml) = file.elements_yaml.filter(|yaml| !yaml.trim().is_empty()) {
        let place = format!("{field}.elementsYaml");
        if yaml.contains("{{") {
            let message = "elements that come from a template are not supported";
            return Err(GenerateError::new(&place, message));
        }
        let more: Vec<Map<String, Value>> = serde_saphyr::from_str(&yaml)
            .map_err(|_| GenerateError::new(&place, "must be a list of maps"))?;
        elements.extend(more);
    }
    let mut sets = Vec::new();
    for element in elements {
        let mut parameters = TemplateParameters::new();
        flatten("", &Value::Object(element), &mut parameters);
        sets.push(ParameterSet {
            parameters,
            ..ParameterSet::default()
        });
    }
    Ok(sets)
}

/// Adds every scalar of a map under its path.
fn flatten(path: &str, value: &Value, parameters: &mut TemplateParameters) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                flatten(&below, field, parameters);
            }
        }
        Value::String(text) => {
            parameters.insert(path.to_owned(), text.clone());
        }
        Value::Null | Value::Array(_) => {}
        other => {
            parameters.insert(path.to_owned(), other.to_string());
        }
    }
}

fn values_of(parameters: &TemplateParameters, keys: &[String]) -> Vec<Option<String>> {
    keys.iter()
        .map(|key| parameters.get(key).cloned())
        .collect()
}

/// Substitutes parameters in a nested generator.
fn filled(value: &Value, parameters: &TemplateParameters) -> Value {
    match value {
        Value::String(text) => Value::String(filled_text(text, parameters)),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| filled(item, parameters)).collect())
        }
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, field)| (filled_text(key, parameters), filled(field, parameters)))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// Substitutes parameters in a text, in either notation. Unknown expressions stay unchanged.
fn filled_text(text: &str, parameters: &TemplateParameters) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((expression, after)) = after.split_once("}}") else {
            break;
        };
        result.push_str(before);
        match parameters.get(&parameter_of(expression)) {
            Some(value) => result.push_str(value),
            None => {
                result.push_str("{{");
                result.push_str(expression);
                result.push_str("}}");
            }
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// Returns the name of the parameter in an expression such as `name`, `.name` or `index .metadata.labels "env"`.
pub(crate) fn parameter_of(expression: &str) -> String {
    let expression = expression.trim_matches('-').trim();
    let Some(indexed) = expression.strip_prefix("index ") else {
        return expression
            .strip_prefix('.')
            .unwrap_or(expression)
            .to_owned();
    };
    let mut parts = indexed.split_whitespace();
    let path = parts.next().unwrap_or_default().trim_start_matches('.');
    let key = parts.next().unwrap_or_default().trim_matches(['"', '`']);
    format!("{path}.{key}")
}

/// The reason why a text in the template cannot be rendered.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum NotRendered {
    /// The cluster lacks a label that the text uses.
    Missing,
    /// The expression is not a plain parameter.
    Unknown,
}

/// Substitutes parameters in a text of the template. In Go notation a missing label becomes an empty string.
///
/// # Errors
/// Returns the reason why the text cannot be rendered.
pub(crate) fn rendered(
    text: &str,
    parameters: &TemplateParameters,
    is_go: bool,
) -> Result<String, NotRendered> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (expression, after) = after.split_once("}}").ok_or(NotRendered::Unknown)?;
        let name = parameter_of(expression);
        result.push_str(before);
        match parameters.get(&name) {
            Some(value) => result.push_str(value),
            None if name.starts_with("metadata.labels.") && is_go => {}
            None if name.starts_with("metadata.labels.") => return Err(NotRendered::Missing),
            None => return Err(NotRendered::Unknown),
        }
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels(env: &str) -> Labels {
        [("env".to_owned(), env.to_owned())].into()
    }

    /// Returns the names of the clusters that get an application, and whether the local cluster gets one.
    fn selected(generators: &Value) -> Result<(Vec<&'static str>, bool), GenerateError> {
        let (prod, dev) = (labels("prod"), labels("dev"));
        let known = |name, labels| KnownCluster {
            name,
            server: None,
            labels,
        };
        let clusters = [known("c0", &prod), known("c1", &prod), known("c2", &dev)];
        let spec = json!({
            "generators": generators,
            "template": {"spec": {"destination": {"server": "{{server}}"}}},
        });
        let set = generate(&spec, &clusters)?;
        let names = ["c0", "c1", "c2"];
        let found = set
            .applications
            .iter()
            .map(|application| names[application.cluster]);
        Ok((found.collect(), set.local.is_some()))
    }

    #[test]
    fn each_kind_of_generator_creates_the_same_applications_as_argo_cd() {
        let of_two = json!({"matchExpressions": [{"key": "name", "operator": "In", "values": ["c0", "c2"]}]});
        let prod = json!({"selector": {"matchLabels": {"env": "prod"}}});
        for (generators, names, has_local) in [
            (json!([{"clusters": {}}]), vec!["c0", "c1", "c2"], true),
            (json!([{"clusters": null}]), vec!["c0", "c1", "c2"], true),
            (json!([{"clusters": prod}]), vec!["c0", "c1"], false),
            (
                json!([{"clusters": {}, "selector": of_two}]),
                vec!["c0", "c2"],
                false,
            ),
            (
                json!([{"clusters": prod, "selector": of_two}]),
                vec!["c0"],
                false,
            ),
            (
                json!([{"clusters": {}, "selector": {"matchLabels": {"metadata.labels.env": "dev"}}}]),
                vec!["c2"],
                false,
            ),
            (
                json!([{"list": {"elements": [{"cluster": "c1"}, {"url": "https://c2"}]}}]),
                vec!["c1", "c2"],
                false,
            ),
            (
                json!([{"list": {"elementsYaml": "- {server: https://c0}"}}]),
                vec!["c0"],
                false,
            ),
            (
                json!([{"matrix": {"generators": [{"list": {"elements": [{"env": "dev"}]}},
                    {"clusters": {"selector": {"matchLabels": {"env": "{{env}}"}}}}]}}]),
                vec!["c2"],
                false,
            ),
            (
                json!([{"merge": {"mergeKeys": ["name"], "generators": [{"clusters": prod},
                    {"list": {"elements": [{"name": "c1", "wave": "2"}]}}]}, "selector": {"matchLabels": {"wave": "2"}}}]),
                vec!["c1"],
                false,
            ),
        ] {
            assert_eq!(
                selected(&generators),
                Ok((names, has_local)),
                "{generators}"
            );
        }
    }

    #[test]
    fn generators_that_cannot_be_computed_are_refused_at_their_position() {
        for (generators, field) in [
            (json!([{"git": {}}]), "spec.generators[0].git"),
            (
                json!([{"clusters": {"flatList": true}}]),
                "spec.generators[0].clusters.flatList",
            ),
            (
                json!([{"list": {"elements": [{"x": "c9"}]}}]),
                "spec.template.spec.destination",
            ),
            (
                json!([{"clusters": {"template": {"metadata": {}}}}]),
                "spec.generators[0].clusters.template",
            ),
            (
                json!([{"matrix": {"generators": [{"clusters": {}}, {"list": {"elements": [{"a": "1"}, {"a": "2"}]}}]}}]),
                "spec.template.spec.destination",
            ),
        ] {
            let error = selected(&generators).expect_err(field);
            assert_eq!(error.field, field, "{}", error.message);
        }
    }

    #[test]
    fn texts_are_rendered_in_both_notations() {
        let labels = [("ring", "1"), ("a/b", "c")];
        let labels: Labels = labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let mut parameters = cluster_parameters(&KnownCluster {
            name: "eu-1",
            server: None,
            labels: &labels,
        });
        parameters.insert("values.env".to_owned(), "prod".to_owned());
        for (text, is_go, value) in [
            ("fixed", false, Ok("fixed")),
            ("{{metadata.labels.ring}}", false, Ok("1")),
            (
                "r-{{ .metadata.labels.ring }}-{{.name}}",
                true,
                Ok("r-1-eu-1"),
            ),
            (r#"{{ index .metadata.labels "a/b" }}"#, true, Ok("c")),
            ("{{metadata.labels.none}}", false, Err(NotRendered::Missing)),
            ("{{.metadata.labels.none}}", true, Ok("")),
            ("{{values.env}}", false, Ok("prod")),
            ("{{ .name | upper }}", true, Err(NotRendered::Unknown)),
            ("{{ name", false, Err(NotRendered::Unknown)),
        ] {
            let found = rendered(text, &parameters, is_go);
            assert_eq!(found.as_deref(), value.as_ref().copied(), "{text}");
        }
    }

    #[test]
    fn parameters_of_both_notations_are_found() {
        for (expression, name) in [
            (" name ", "name"),
            (".name", "name"),
            (r#"index .metadata.labels "a/b""#, "metadata.labels.a/b"),
            ("index .metadata.labels `env`", "metadata.labels.env"),
        ] {
            assert_eq!(parameter_of(expression), name);
        }
    }
}
