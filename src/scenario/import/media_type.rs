//! Media types of an image manifest: layers that a container runtime can unpack, and artifacts that are not images.
//!
//! Source for layers: the OCI image specification 1.1 (`layer.md`) and Docker's schema 2, as read by containerd's
//! `core/images/mediatypes.go`. Accepted configs are image configs, and the default values that old registries have
//! stored, as in Docker (moby/moby, `ImageTypes` in `distribution`).

/// How the bytes of a layer are packed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LayerPacking {
    /// An uncompressed tar archive.
    Plain,
    Gzip,
    Zstd,
}

/// Prefixes of the media types of layers. The packing follows the prefix.
const LAYERS: [&str; 4] = [
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.foreign.diff.tar",
];

impl LayerPacking {
    /// Returns the packing of a layer with this media type. Without a media type, gzip is assumed. `None`: no runtime
    /// unpacks the layer.
    pub(crate) fn of(media_type: Option<&str>) -> Option<Self> {
        let Some(media_type) = media_type else {
            return Some(Self::Gzip);
        };
        let ending = LAYERS
            .iter()
            .find_map(|layer| media_type.strip_prefix(layer))?;
        // A layer with `+encrypted` is decrypted during unpacking.
        match ending.strip_suffix("+encrypted").unwrap_or(ending) {
            "" => Some(Self::Plain),
            "+gzip" | ".gzip" => Some(Self::Gzip),
            "+zstd" | ".zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Returns whether a config with this media type belongs to an image.
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

/// Artifacts other than images that a registry stores.
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
    /// Returns the artifact with this media type. `None`: the media type is not known as another artifact.
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

    /// Returns the reason why the artifact is rejected.
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

    /// Returns the suggested fix.
    pub(crate) const fn help(self) -> &'static str {
        match self {
            Self::HelmChart => {
                "name the images that it installs: `helm template CHART | grep image:`, and `crane manifest` of each"
            }
            Self::WasmModule => {
                "write its bytes as an inline layer, e.g. `manifest: {layers: [{size: 5 MB}]}`"
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
