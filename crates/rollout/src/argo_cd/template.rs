//! The name and the labels of the application that the template generates for a cluster.
//!
//! Follows `applicationset/utils/utils.go` (`Render`, in both notations) and the parameters of
//! `applicationset/generators/cluster.go`. Steps select by the labels of applications, and an application has exactly
//! the labels that the template sets. Recorded rollouts of sets with templates of both notations are in
//! `tests/closed-loop/argocd`.
//!
//! Left out: functions and conditions. A name with such an expression is replaced by the cluster's name; a label with
//! such an expression is omitted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::label_selector::Labels;
use super::config::ApplicationSetSpec;

/// A cluster as seen by the template's expressions.
#[derive(Clone, Copy, Debug)]
pub struct TemplateCluster<'c> {
    /// The cluster's name in Argo CD.
    pub name: &'c str,
    /// The labels of its Secret.
    pub labels: &'c Labels,
    /// Parameters of other generators, such as `values.zone`.
    pub parameters: &'c BTreeMap<String, String>,
}

/// The value of an expression of a template.
enum ParameterValue<'c> {
    Known(&'c str),
    /// A parameter that the cluster does not have.
    Missing,
    /// An expression that is not a plain parameter.
    Unknown,
}

impl ApplicationSetSpec {
    /// Returns the name and labels of the application for a cluster. `own`: labels of the application in addition to
    /// those of the template.
    pub fn application(&self, cluster: TemplateCluster<'_>, own: &Labels) -> (String, Arc<Labels>) {
        let metadata = &self.template.metadata;
        let nameless = TemplateCluster {
            name: "",
            ..cluster
        };
        // If the template's name does not contain the cluster's name, all applications would have the same name.
        let names_the_cluster = self.render(&metadata.name, nameless).is_none();
        let own_name = if names_the_cluster {
            self.render(&metadata.name, cluster)
        } else {
            None
        };
        let mut labels = own.clone();
        for (key, text) in &metadata.labels {
            if let Some(value) = self.render(text, cluster) {
                labels.insert(key.clone(), value);
            }
        }
        let name = own_name.unwrap_or_else(|| cluster.name.to_owned());
        (name, Arc::new(labels))
    }

    /// Replaces the expressions in a text. `None`: an expression is not supported, or the cluster has no name.
    fn render(&self, text: &str, cluster: TemplateCluster<'_>) -> Option<String> {
        let mut rendered = String::new();
        let mut rest = text;
        while let Some((before, expression)) = rest.split_once("{{") {
            let (expression, after) = expression.split_once("}}")?;
            rendered.push_str(before);
            match self.value(expression.trim_matches('-').trim(), cluster) {
                ParameterValue::Known(value) => rendered.push_str(value),
                // The simple notation keeps expressions that it cannot resolve.
                ParameterValue::Missing => {
                    rendered.push_str("{{");
                    rendered.push_str(expression);
                    rendered.push_str("}}");
                }
                ParameterValue::Unknown => return None,
            }
            rest = after;
        }
        rendered.push_str(rest);
        Some(rendered)
    }

    /// Returns the expressions of the template's labels that are not plain parameters, and those whose parameter this
    /// cluster lacks.
    pub fn open_expressions(&self, cluster: TemplateCluster<'_>) -> Vec<OpenExpression> {
        let mut open = Vec::new();
        for (key, text) in &self.template.metadata.labels {
            for part in text.split("{{").skip(1) {
                let expression = part.split("}}").next().unwrap_or_default();
                let expression = expression.trim_matches('-').trim();
                let is_missing = match self.value(expression, cluster) {
                    ParameterValue::Known(_) => continue,
                    ParameterValue::Missing => true,
                    ParameterValue::Unknown => false,
                };
                open.push(OpenExpression {
                    label: key.clone(),
                    text: text.clone(),
                    is_missing,
                });
            }
        }
        open
    }

    fn value<'c>(&self, expression: &str, cluster: TemplateCluster<'c>) -> ParameterValue<'c> {
        let is_go = self.go_template;
        let path = match expression.strip_prefix('.') {
            Some(path) if is_go => path,
            None if !is_go => expression,
            None => return self.indexed(expression, cluster),
            Some(_) => return ParameterValue::Unknown,
        };
        if ["name", "nameNormalized"].contains(&path) {
            return if cluster.name.is_empty() {
                ParameterValue::Unknown
            } else {
                ParameterValue::Known(cluster.name)
            };
        }
        if let Some(key) = path.strip_prefix("metadata.labels.") {
            return self.label(key, cluster);
        }
        match cluster.parameters.get(path) {
            Some(value) => ParameterValue::Known(value),
            None => ParameterValue::Unknown,
        }
    }

    /// Evaluates `index .metadata.labels "key"`, in Go's notation.
    fn indexed<'c>(&self, expression: &str, cluster: TemplateCluster<'c>) -> ParameterValue<'c> {
        let key = expression
            .strip_prefix("index .metadata.labels ")
            .and_then(|key| key.trim().strip_prefix(['"', '`']))
            .and_then(|key| key.strip_suffix(['"', '`']));
        match key {
            Some(key) => self.label(key, cluster),
            None => ParameterValue::Unknown,
        }
    }

    /// Returns a label of the cluster. In Go's notation a missing label is an empty text.
    fn label<'c>(&self, key: &str, cluster: TemplateCluster<'c>) -> ParameterValue<'c> {
        match cluster.labels.get(key) {
            Some(value) => ParameterValue::Known(value),
            None if self.go_template => ParameterValue::Known(""),
            None => ParameterValue::Missing,
        }
    }
}

/// An expression without a value, in a label of the template.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct OpenExpression {
    /// The label of the application.
    pub label: String,
    /// The text of the expression in the template.
    pub text: String,
    /// Whether the cluster lacks the parameter. Otherwise the expression is not a plain parameter.
    pub is_missing: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(yaml: &str) -> (String, Labels) {
        let labels = [("ring", "canary"), ("example.com/tier", "gold")];
        let labels: Labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let spec: ApplicationSetSpec = serde_saphyr::from_str(yaml).expect(yaml);
        let cluster = TemplateCluster {
            name: "eu-1",
            labels: &labels,
            parameters: &BTreeMap::new(),
        };
        let (name, labels) = spec.application(cluster, &Labels::new());
        (name, Labels::clone(&labels))
    }

    #[test]
    fn an_application_has_the_labels_of_the_template_and_no_others() {
        let cases = [
            // metadata, name, the label `stage`, why
            ("{name: '{{name}}-shop'}", "eu-1-shop", None, "no label"),
            (
                "{labels: {stage: '{{metadata.labels.ring}}'}}",
                "eu-1",
                Some("canary"),
                "no name",
            ),
            (
                "{name: '{{ name }}', labels: {stage: 'all'}}",
                "eu-1",
                Some("all"),
                "a plain text",
            ),
            (
                "{name: shop, labels: {stage: 'a-{{ nameNormalized }}'}}",
                "eu-1",
                Some("a-eu-1"),
                "one name for all",
            ),
            (
                "{labels: {stage: '{{metadata.labels.wave}}'}}",
                "eu-1",
                Some("{{metadata.labels.wave}}"),
                "a missing label keeps the text",
            ),
            (
                "{name: '{{cluster}}', labels: {stage: '{{env}}'}}",
                "eu-1",
                None,
                "other parameters are not known",
            ),
        ];
        for (metadata, name, stage, why) in cases {
            let (found, labels) = application(&format!("template: {{metadata: {metadata}}}"));
            assert_eq!(
                (found.as_str(), labels.get("stage").map(String::as_str)),
                (name, stage),
                "{metadata}: {why}"
            );
            assert_eq!(labels.get("ring"), None, "{metadata}: the cluster's own");
        }
    }

    #[test]
    fn go_templates_have_separate_expressions() {
        let cases = [
            ("'{{.metadata.labels.ring}}'", Some("canary"), "a field"),
            (
                "'{{- .metadata.labels.ring -}}'",
                Some("canary"),
                "with trimmed blanks",
            ),
            (
                "'{{ index .metadata.labels \"example.com/tier\" }}'",
                Some("gold"),
                "a key that is no name of a field",
            ),
            (
                "'{{index .metadata.labels `wave`}}'",
                Some(""),
                "a missing label is empty",
            ),
            ("'{{name}}'", None, "the other notation"),
            (
                "'{{ if eq .name \"eu-1\" }}first{{ end }}'",
                None,
                "conditions are not known",
            ),
        ];
        for (stage, expected, why) in cases {
            let yaml = format!(
                "{{goTemplate: true, template: {{metadata: {{name: 'x-{{{{.name}}}}', labels: {{stage: {stage}}}}}}}}}"
            );
            let (name, labels) = application(&yaml);
            assert_eq!(
                (name.as_str(), labels.get("stage").map(String::as_str)),
                ("x-eu-1", expected),
                "{stage}: {why}"
            );
        }
    }
}
