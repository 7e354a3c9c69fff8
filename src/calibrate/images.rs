//! Layers of the images that were pulled: manifests, a table, or names that state them.
//!
//! A manifest has compressed sizes only. Sizes on disk come from a field `uncompressed` beside `size`, or are assumed
//! from a ratio. An image that is only known by its totals is taken as layers of equal size.

use super::input::Input;
use crate::document::csv::{broken, byte_of, reader};
use crate::document::problem::OrProblem;
use crate::scenario::import::manifest::{self, ManifestLayer};

/// A layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownLayer {
    /// Layers with the same digest are the same bytes. `None`: the layer is like no other.
    pub(super) digest: Option<String>,
    pub(super) compressed: f64,
    /// `None`: not known.
    pub(super) uncompressed: Option<f64>,
}

/// Totals of an image that are known without its manifest, in the order of [`FIELDS`].
type ImageTotals = [Option<u64>; FIELDS.len()];

/// Everything that is known about images.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownImages {
    manifests: Vec<(String, Vec<KnownLayer>)>,
    table: Vec<(String, ImageTotals)>,
    patterns: Vec<NamePattern>,
}

/// The texts of a name before its fields, each with the place of the field in [`FIELDS`], and the text behind them.
type NamePattern = (Vec<(String, usize)>, String);

/// The fields of a pattern.
const FIELDS: [&str; 3] = ["layers", "compressed", "uncompressed"];

impl KnownImages {
    /// Adds the manifest of an image.
    pub(super) fn add_manifest(&mut self, image: &str, input: &Input) -> OrProblem<()> {
        let manifest = manifest::read(&input.source);
        let manifest = manifest
            .map_err(|problems| Box::new(problems.into_iter().next().expect("a problem")))?;
        let layer = |layer: ManifestLayer| KnownLayer {
            digest: Some(layer.digest),
            compressed: layer.size.get() as f64,
            uncompressed: layer.uncompressed.map(|bytes| bytes as f64),
        };
        self.manifests.push((
            image.to_owned(),
            manifest.layers.into_iter().map(layer).collect(),
        ));
        Ok(())
    }

    /// Adds a table with the columns `image`, `layers`, and `uncompressed_bytes` or `compressed_bytes` or both.
    pub(super) fn add_table(&mut self, input: &Input) -> OrProblem<()> {
        let help = "write the columns image,layers,compressed_bytes,uncompressed_bytes";
        let broken = broken(&input.source, help);
        let mut reader = reader(&input.source)?;
        let header = reader.headers().map_err(&broken)?.clone();
        let column = |name: &str| header.iter().position(|found| found == name);
        let Some(image) = column("image") else {
            return Err(input.at(0, "image", "the table has no column `image`", help));
        };
        let columns = [
            column("layers"),
            column("compressed_bytes"),
            column("uncompressed_bytes"),
        ];
        if columns[0].is_none() {
            return Err(input.at(0, "layers", "the table has no column `layers`", help));
        }
        for record in reader.records() {
            let record = record.map_err(&broken)?;
            let mut numbers = ImageTotals::default();
            for ((number, at), name) in numbers.iter_mut().zip(columns).zip(FIELDS) {
                let text = at.and_then(|at| record.get(at)).unwrap_or_default();
                if text.is_empty() {
                    continue;
                }
                let parsed = text.parse::<u64>().ok().filter(|number| *number > 0);
                *number = Some(parsed.ok_or_else(|| {
                    let message = format!("`{text}` is not a whole number above 0");
                    input.at(
                        byte_of(record.position()),
                        name,
                        message,
                        "write bytes without a unit",
                    )
                })?);
            }
            self.table
                .push((record.get(image).unwrap_or_default().to_owned(), numbers));
        }
        Ok(())
    }

    /// Adds a pattern of names, such as `chonks:{layers}-layers-size-{uncompressed}-bytes`.
    ///
    /// # Errors
    /// When it has no field or an unknown one; in words.
    pub(super) fn add_pattern(&mut self, pattern: &str) -> Result<(), String> {
        let (mut fields, mut rest) = (Vec::new(), pattern);
        while let Some((text, after)) = rest.split_once('{') {
            let (field, after) = after.split_once('}').ok_or("a `{` has no `}`")?;
            let known = FIELDS.iter().position(|known| *known == field);
            let known = known.ok_or_else(|| {
                format!("unknown field `{{{field}}}`; use {{layers}}, {{compressed}} or {{uncompressed}}")
            })?;
            fields.push((text.to_owned(), known));
            rest = after;
        }
        if fields.iter().all(|(_, field)| FIELDS[*field] != "layers") {
            return Err(
                "a pattern needs `{layers}`, such as `shop:{layers}-layers-{uncompressed}-bytes`"
                    .to_owned(),
            );
        }
        self.patterns.push((fields, rest.to_owned()));
        Ok(())
    }

    /// The layers of an image, bottom first. `size`: its compressed bytes as the kubelet prints them.
    pub(super) fn layers(&self, image: &str, size: Option<u64>) -> Option<Vec<KnownLayer>> {
        let is_same = |name: &str| is_image(image, name);
        if let Some((_, layers)) = self.manifests.iter().find(|(name, _)| is_same(name)) {
            return Some(layers.clone());
        }
        let of_table = self
            .table
            .iter()
            .find(|(name, _)| is_same(name))
            .map(|(_, totals)| *totals);
        let totals = of_table.or_else(|| {
            self.patterns
                .iter()
                .find_map(|pattern| matched(pattern, image))
        });
        let [layers, compressed, uncompressed] = totals?;
        let count = layers.filter(|layers| *layers > 0 && *layers < 10_000)?;
        let each = |bytes: u64| bytes as f64 / count as f64;
        let layer = KnownLayer {
            digest: None,
            compressed: each(compressed.or(size).or(uncompressed)?),
            uncompressed: uncompressed.map(each),
        };
        Some(vec![layer; count as usize])
    }
}

/// Whether an image of the events is the named one, which may lack the registry.
pub(super) fn is_image(image: &str, name: &str) -> bool {
    image == name
        || image
            .strip_suffix(name)
            .is_some_and(|rest| rest.ends_with('/'))
}

/// The numbers that a name has where the pattern has fields.
fn matched(pattern: &NamePattern, name: &str) -> Option<ImageTotals> {
    name.char_indices()
        .find_map(|(start, _)| matched_from(pattern, &name[start..]))
}

fn matched_from((fields, end): &NamePattern, name: &str) -> Option<ImageTotals> {
    let mut rest = name;
    let mut totals = ImageTotals::default();
    for (text, field) in fields {
        rest = rest.strip_prefix(text.as_str())?;
        let digits = rest
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(rest.len());
        totals[*field] = Some(rest[..digits].parse().ok()?);
        rest = &rest[digits..];
    }
    rest.starts_with(end.as_str()).then_some(totals)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::document::problem::Source;

    fn input(text: &str) -> Input {
        let source = Arc::new(Source::new("m.json", text));
        Input::of(source)
    }

    #[test]
    fn names_tables_and_manifests_tell_layers() {
        let mut images = KnownImages::default();
        images
            .add_pattern("chonks:{layers}-layers-size-{uncompressed}-bytes")
            .expect("a pattern");
        images
            .add_table(&input(
                "image,layers,compressed_bytes,uncompressed_bytes\nshop:1,2,100,400\n",
            ))
            .expect("CSV");
        let manifest = r#"{"layers": [{"digest": "sha256:a", "size": 10, "uncompressed": 30}, {"digest": "sha256:b", "size": 20}]}"#;
        images
            .add_manifest("cart:1", &input(manifest))
            .expect("a manifest");
        let layers = images
            .layers("reg.dev/x/chonks:9-layers-size-900-bytes", Some(90))
            .expect("known");
        assert_eq!(layers.len(), 9);
        assert_eq!(
            (layers[0].compressed, layers[0].uncompressed),
            (10.0, Some(100.0))
        );
        let layers = images.layers("reg.dev/shop:1", None).expect("known");
        assert_eq!(
            (layers.len(), layers[1].compressed, layers[1].uncompressed),
            (2, 50.0, Some(200.0))
        );
        let layers = images.layers("cart:1", None).expect("known");
        assert_eq!(
            (layers[0].uncompressed, layers[1].uncompressed),
            (Some(30.0), None)
        );
        assert!(
            images.layers("other:1", Some(5)).is_none()
                && images.layers("mycart:1", None).is_none()
        );
    }

    #[test]
    fn what_tells_no_layers_is_refused() {
        let mut images = KnownImages::default();
        for (text, message) in [
            ("{}", "no image manifest: it has no `layers`"),
            (r#"{"manifests": []}"#, "an index of several platforms"),
            (
                r#"{"layers": [{"digest": "a", "size": "large"}]}"#,
                "which is no number of bytes",
            ),
            ("layers:", "not JSON"),
        ] {
            let found = images
                .add_manifest("a", &input(text))
                .expect_err(text)
                .to_string();
            assert!(found.contains(message), "{text}: {found}");
        }
        for (text, message) in [
            ("a,b\n1,2\n", "no column `image`"),
            ("image,layers\na,many\n", "m.json:2:1: layers: `many`"),
        ] {
            let found = images.add_table(&input(text)).expect_err(text).to_string();
            assert!(found.contains(message), "{text}: {found}");
        }
        for (pattern, message) in [
            ("x:{size}", "unknown field"),
            ("x", "needs `{layers}`"),
            ("x{layers", "no `}`"),
        ] {
            let found = images.add_pattern(pattern).expect_err(pattern);
            assert!(found.contains(message), "{pattern}: {found}");
        }
    }
}
