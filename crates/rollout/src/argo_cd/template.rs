//! The name and the labels of the application that the template makes for a cluster.
//!
//! Follows `applicationset/utils/utils.go` (`Render`, in both notations) and the parameters of
//! `applicationset/generators/cluster.go`. Steps select by the labels of applications. Here an application has the
//! labels of its cluster, and also those of the template. Recorded rollouts of sets with templates of both
//! notations are in `tests/closed-loop/argocd`.
//!
//! Left out: all expressions but the cluster's name and its labels (functions, conditions, parameters of other
//! generators, `values`). A label or a name with another expression is taken from the cluster.

use std::sync::Arc;

use super::super::label_selector::Labels;
use super::config::ApplicationSetSpec;

/// A cluster as the template's expressions see it.
#[derive(Clone, Copy)]
struct ClusterParameters<'c> {
    name: &'c str,
    labels: &'c Labels,
    is_go: bool,
}

impl ApplicationSetSpec {
    /// Name and labels of the application of a cluster with this name and these labels.
    pub fn application(&self, name: &str, labels: &Arc<Labels>) -> (String, Arc<Labels>) {
        let metadata = &self.template.metadata;
        let parameters = ClusterParameters {
            name,
            labels,
            is_go: self.go_template,
        };
        // Without the cluster's name, all applications would have one name.
        let own_name = if parameters.need_name(&metadata.name) {
            parameters.render(&metadata.name)
        } else {
            None
        };
        let own_name = own_name.unwrap_or_else(|| name.to_owned());
        if metadata.labels.is_empty() {
            return (own_name, Arc::clone(labels));
        }
        let mut all = Labels::clone(labels);
        for (key, text) in &metadata.labels {
            if let Some(value) = parameters.render(text) {
                all.insert(key.clone(), value);
            }
        }
        (own_name, Arc::new(all))
    }
}

impl ClusterParameters<'_> {
    /// Whether a text cannot be rendered without the cluster's name.
    fn need_name(self, text: &str) -> bool {
        let nameless = ClusterParameters { name: "", ..self };
        nameless.render(text).is_none()
    }

    /// A text with its expressions replaced. `None`: one of them is not known here.
    fn render(&self, text: &str) -> Option<String> {
        let mut rendered = String::new();
        let mut rest = text;
        while let Some((before, expression)) = rest.split_once("{{") {
            let (expression, after) = expression.split_once("}}")?;
            rendered.push_str(before);
            match self.value(expression.trim_matches('-').trim()) {
                Some(value) => rendered.push_str(value),
                // The simple notation keeps what it does not find.
                None if !self.is_go && expression.trim().starts_with("metadata.labels.") => {
                    rendered.push_str(&format!("{{{{{expression}}}}}"));
                }
                None => return None,
            }
            rest = after;
        }
        rendered.push_str(rest);
        Some(rendered)
    }

    fn value(&self, expression: &str) -> Option<&str> {
        let path = if self.is_go {
            expression.strip_prefix('.').unwrap_or_default()
        } else {
            expression
        };
        if ["name", "nameNormalized"].contains(&path) {
            return (!self.name.is_empty()).then_some(self.name);
        }
        if let Some(key) = path.strip_prefix("metadata.labels.") {
            return self.label(key);
        }
        if !self.is_go {
            return None;
        }
        let key = expression.strip_prefix("index .metadata.labels ")?;
        let key = key
            .trim()
            .strip_prefix(['"', '`'])?
            .strip_suffix(['"', '`'])?;
        self.label(key)
    }

    /// A label's value. A missing label is empty in Go's notation.
    fn label(&self, key: &str) -> Option<&str> {
        match self.labels.get(key) {
            Some(value) => Some(value),
            None if self.is_go => Some(""),
            None => None,
        }
    }
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
        let (name, labels) = spec.application("eu-1", &Arc::new(labels));
        (name, Labels::clone(&labels))
    }

    #[test]
    fn an_application_has_the_labels_of_its_cluster_and_of_the_template() {
        let cases = [
            // metadata, name, the label `stage`, why
            (
                "{name: '{{name}}-shop'}",
                "eu-1-shop",
                None,
                "the cluster's labels alone",
            ),
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
            assert_eq!(
                labels["ring"], "canary",
                "{metadata}: the cluster's own stay"
            );
        }
    }

    #[test]
    fn the_notation_of_go_has_its_own_expressions() {
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
