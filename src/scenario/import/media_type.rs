//! Media types of an image manifest: which layers a container runtime unpacks and how, and which ones are not images.
//!
//! Layers: the OCI image specification 1.1 (`layer.md`) and Docker's schema 2, as containerd's
//! `core/images/mediatypes.go` reads them. Configs: those of images, and the defaulted values that old registries have
//! stored, which Docker accepts (moby/moby, `ImageTypes` in `distribution`).

/// How the bytes of a layer are packed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LayerPacking {
    /// A tar archive as it is.
    Plain,
    Gzip,
    Zstd,
}

/// Beginnings of the media types of layers, each followed by the packing.
const LAYERS: [&str; 4] = [
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.foreign.diff.tar",
];

impl LayerPacking {
    /// The packing of a layer of this media type. A layer without one is taken for the usual, gzip. `None`: no runtime
    /// unpacks it.
    pub(crate) fn of(media_type: Option<&str>) -> Option<Self> {
        let Some(media_type) = media_type else {
            return Some(Self::Gzip);
        };
        let ending = LAYERS
            .iter()
            .find_map(|layer| media_type.strip_prefix(layer))?;
        // `+encrypted` is decrypted in passing.
        match ending.strip_suffix("+encrypted").unwrap_or(ending) {
            "" => Some(Self::Plain),
            "+gzip" | ".gzip" => Some(Self::Gzip),
            "+zstd" | ".zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Whether a config of this media type is that of an image.
pub(crate) fn is_image_config(media_type: Option<&str>) -> bool {
    matches!(
        media_type,
        None | Some(
            "application/vnd.oci.image.config.v1+json"
                | "application/vnd.docker.container.image.v1+json"
                | "application/octet-stream"
                | "application/json"
                | "text/html"
                | ""
        )
    )
}

/// What a registry stores other than images.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OtherArtifact {
    Attestation,
    Signature,
    ComponentList,
    HelmChart,
    WasmModule,
    Unknown,
}

impl OtherArtifact {
    /// The meaning of a media type. `None`: it is unknown here.
    pub(crate) fn of(media_type: &str) -> Option<Self> {
        let known = [
            ("in-toto", Self::Attestation),
            ("attestation", Self::Attestation),
            ("dsse", Self::Attestation),
            ("cosign", Self::Signature),
            ("signature", Self::Signature),
            ("spdx", Self::ComponentList),
            ("cyclonedx", Self::ComponentList),
            ("cncf.helm", Self::HelmChart),
            ("wasm", Self::WasmModule),
        ];
        let found = known.iter().find(|(part, _)| media_type.contains(part));
        found.map(|(_, artifact)| *artifact)
    }

    /// Why it is refused.
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Attestation => "this is an attestation, not an image",
            Self::Signature => "this is a signature, not an image",
            Self::ComponentList => "this is a list of components (SBOM), not an image",
            Self::HelmChart => "this is a Helm chart, not an image",
            Self::WasmModule => "this is a WebAssembly module, not an image of layers",
            Self::Unknown => "this is an artifact, not an image",
        }
    }

    /// The fix.
    pub(crate) const fn help(self) -> &'static str {
        match self {
            Self::HelmChart => {
                "name the images that it installs: `helm template CHART | grep image:`, and `crane manifest` of each"
            }
            Self::WasmModule => {
                "write its bytes as a layer in place, e.g. `manifest: {layers: [{size: 5 MB}]}`"
            }
            _ => "choose the manifest of a platform: `crane manifest --platform linux/amd64 IMAGE`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_has_the_compression_of_its_media_type() {
        for (media_type, packing) in [
            (None, Some(LayerPacking::Gzip)),
            (
                Some("application/vnd.oci.image.layer.v1.tar"),
                Some(LayerPacking::Plain),
            ),
            (
                Some("application/vnd.oci.image.layer.v1.tar+zstd"),
                Some(LayerPacking::Zstd),
            ),
            (
                Some("application/vnd.oci.image.layer.v1.tar+gzip+encrypted"),
                Some(LayerPacking::Gzip),
            ),
            (
                Some("application/vnd.docker.image.rootfs.diff.tar"),
                Some(LayerPacking::Plain),
            ),
            (
                Some("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"),
                Some(LayerPacking::Gzip),
            ),
            (Some("application/vnd.oci.image.layer.v1.tar+bzip2"), None),
            (
                Some("application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
                None,
            ),
            (Some("application/vnd.in-toto+json"), None),
            (Some("x"), None),
        ] {
            assert_eq!(LayerPacking::of(media_type), packing, "{media_type:?}");
        }
    }
}
