//! Layers of the pulled images, from manifests, from a table, or from image names that describe them.
//!
//! A manifest contains only compressed sizes. Uncompressed sizes come from a field `uncompressed` next to `size`, or
//! are estimated with a ratio. An image with only known totals is treated as layers of equal size.

use super::input::Input;
use crate::document::csv::{broken, byte_of, reader};
use crate::document::problem::OrProblem;
use crate::scenario::import::manifest;
use crate::scenario::import::media_type::LayerPacking;

/// A layer of a known image.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownLayer {
    /// The layer's digest. Layers with the same digest are identical. `None`: the layer differs from all others.
    pub(super) digest: Option<String>,
    pub(super) compressed: f64,
    /// The uncompressed size in bytes. `None`: it is unknown.
    pub(super) uncompressed: Option<f64>,
}

/// Totals of an image without a manifest.
#[derive(Clone, Copy, Debug, Default)]
struct ImageTotals {
    layers: Option<u64>,
    compressed: Option<u64>,
    uncompressed: Option<u64>,
}

/// A total that a table or an image name contains.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ImageTotal {
    Layers,
    Compressed,
    Uncompressed,
}

impl ImageTotal {
    const ALL: [Self; 3] = [Self::Layers, Self::Compressed, Self::Uncompressed];

    /// Returns the total's name in a name pattern.
    const fn name(self) -> &'static str {
        match self {
            Self::Layers => "layers",
            Self::Compressed => "compressed",
            Self::Uncompressed => "uncompressed",
        }
    }

    /// Returns the total's column in a table.
    const fn column(self) -> &'static str {
        match self {
            Self::Layers => "layers",
            Self::Compressed => "compressed_bytes",
            Self::Uncompressed => "uncompressed_bytes",
        }
    }
}

impl ImageTotals {
    const fn set(&mut self, total: ImageTotal, number: u64) {
        match total {
            ImageTotal::Layers => self.layers = Some(number),
            ImageTotal::Compressed => self.compressed = Some(number),
            ImageTotal::Uncompressed => self.uncompressed = Some(number),
        }
    }
}

/// All known information about the images.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownImages {
    manifests: Vec<(String, Vec<KnownLayer>)>,
    table: Vec<(String, ImageTotals)>,
    patterns: Vec<NamePattern>,
}

/// A pattern for image names that contain totals.
#[derive(Clone, Debug)]
struct NamePattern {
    fields: Vec<PatternField>,
    /// The text after the last number.
    end: String,
}

/// A number in an image name.
#[derive(Clone, Debug)]
struct PatternField {
    /// The text before the number.
    text: String,
    total: ImageTotal,
}

impl KnownImages {
    /// Adds an image's manifest.
    pub(super) fn add_manifest(&mut self, image: &str, input: &Input) -> OrProblem<()> {
        let manifest = match manifest::read(&input.source) {
            Ok(manifest) => manifest,
            Err(problems) => {
                let first = problems.into_iter().next().expect("a problem");
                return Err(Box::new(first));
            }
        };
        let mut layers = Vec::with_capacity(manifest.layers.len());
        for layer in manifest.layers {
            let on_disk = match layer.packing {
                LayerPacking::Plain => Some(layer.size.get()),
                LayerPacking::Gzip | LayerPacking::Zstd => layer.uncompressed,
            };
            layers.push(KnownLayer {
                digest: Some(layer.digest),
                compressed: layer.size.get() as f64,
                uncompressed: on_disk.map(|bytes| bytes as f64),
            });
        }
        self.manifests.push((image.to_owned(), layers));
        Ok(())
    }

    /// Adds a table with the columns `image`, `layers`, and at least one of `uncompressed_bytes` and
    /// `compressed_bytes`.
    pub(super) fn add_table(&mut self, input: &Input) -> OrProblem<()> {
        let help = "write the columns image,layers,compressed_bytes,uncompressed_bytes";
        let broken = broken(&input.source, help);
        let mut reader = reader(&input.source)?;
        let header = reader.headers().map_err(&broken)?.clone();
        let Some(image) = column(&header, "image") else {
            return Err(input.at(0, "image", "the table has no column `image`", help));
        };
        if column(&header, "layers").is_none() {
            return Err(input.at(0, "layers", "the table has no column `layers`", help));
        }
        for record in reader.records() {
            let record = record.map_err(&broken)?;
            let mut totals = ImageTotals::default();
            for total in ImageTotal::ALL {
                let column = column(&header, total.column());
                let text = column.and_then(|column| record.get(column));
                let text = text.unwrap_or_default();
                if text.is_empty() {
                    continue;
                }
                match text.parse() {
                    Ok(number @ 1..) => totals.set(total, number),
                    _ => {
                        let message = format!("`{text}` is not a whole number above 0");
                        let byte = byte_of(record.position());
                        let help = "write bytes without a unit";
                        return Err(input.at(byte, total.name(), message, help));
                    }
                }
            }
            let name = record.get(image).unwrap_or_default();
            self.table.push((name.to_owned(), totals));
        }
        Ok(())
    }

    /// Adds a pattern for image names, such as `chonks:{layers}-layers-size-{uncompressed}-bytes`.
    ///
    /// # Errors
    /// Returns an error message if the pattern has no field or an unknown field.
    pub(super) fn add_pattern(&mut self, pattern: &str) -> Result<(), String> {
        let mut fields = Vec::new();
        let mut rest = pattern;
        while let Some((text, after)) = rest.split_once('{') {
            let (field, after) = after.split_once('}').ok_or("a `{` has no `}`")?;
            let mut totals = ImageTotal::ALL.into_iter();
            let Some(total) = totals.find(|total| total.name() == field) else {
                return Err(format!(
                    "unknown field `{{{field}}}`; use {{layers}}, {{compressed}} or {{uncompressed}}"
                ));
            };
            fields.push(PatternField {
                text: text.to_owned(),
                total,
            });
            rest = after;
        }
        if fields.iter().all(|field| field.total != ImageTotal::Layers) {
            return Err(
                "a pattern needs `{layers}`, such as `shop:{layers}-layers-{uncompressed}-bytes`"
                    .to_owned(),
            );
        }
        self.patterns.push(NamePattern {
            fields,
            end: rest.to_owned(),
        });
        Ok(())
    }

    /// Returns an image's layers, from bottom to top. `size`: the compressed bytes that the kubelet prints.
    pub(super) fn layers(&self, image: &str, size: Option<u64>) -> Option<Vec<KnownLayer>> {
        for (name, layers) in &self.manifests {
            if is_image(image, name) {
                return Some(layers.clone());
            }
        }
        let ImageTotals {
            layers,
            compressed,
            uncompressed,
        } = self.totals(image)?;
        let count = layers.filter(|layers| (1..10_000).contains(layers))?;
        let all_compressed = compressed.or(size).or(uncompressed)?;
        let layer = KnownLayer {
            digest: None,
            compressed: all_compressed as f64 / count as f64,
            uncompressed: uncompressed.map(|bytes| bytes as f64 / count as f64),
        };
        Some(vec![layer; count as usize])
    }

    /// Returns an image's totals from the tables, or from its name if no table contains it.
    fn totals(&self, image: &str) -> Option<ImageTotals> {
        for (name, totals) in &self.table {
            if is_image(image, name) {
                return Some(*totals);
            }
        }
        let mut patterns = self.patterns.iter();
        patterns.find_map(|pattern| pattern.matched(image))
    }
}

/// Returns the index of the column with this name.
fn column(header: &csv::StringRecord, name: &str) -> Option<usize> {
    header.iter().position(|found| found == name)
}

/// Returns whether an image in the events is the named image. The name may omit the registry.
pub(super) fn is_image(image: &str, name: &str) -> bool {
    match image.strip_suffix(name) {
        Some(registry) => registry.is_empty() || registry.ends_with('/'),
        None => false,
    }
}

impl NamePattern {
    /// Returns the numbers in an image name that matches the pattern.
    fn matched(&self, name: &str) -> Option<ImageTotals> {
        let mut starts = name.char_indices();
        starts.find_map(|(start, _)| self.matched_at_start(&name[start..]))
    }

    fn matched_at_start(&self, name: &str) -> Option<ImageTotals> {
        let mut rest = name;
        let mut totals = ImageTotals::default();
        for PatternField { text, total } in &self.fields {
            rest = rest.strip_prefix(text.as_str())?;
            let after = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            let digits = &rest[..rest.len() - after.len()];
            totals.set(*total, digits.parse().ok()?);
            rest = after;
        }
        rest.starts_with(self.end.as_str()).then_some(totals)
    }
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
    fn layers_are_read_from_names_tables_and_manifests() {
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
    fn a_file_without_layers_is_refused() {
        let mut images = KnownImages::default();
        for (text, message) in [
            ("{}", "not an image manifest: it has no `layers`"),
            (
                r#"{"manifests": []}"#,
                "an index without a manifest for any platform",
            ),
            (
                r#"{"layers": [{"digest": "a", "size": "large"}]}"#,
                "which is not a number of bytes",
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
