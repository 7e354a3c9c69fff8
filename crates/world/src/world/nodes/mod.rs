//! Nodes: images on their disks, image pulls, and the container runtime.
//!
//! | file | models |
//! |---|---|
//! | `node` | the state of one node: disk contents, pull queue, slots |
//! | `catalog` | images as blobs and chains of layers |
//! | `pull`, `pull_progress`, `pull_error` | one attempt to pull an image, and its outcome |
//! | `pull_wait` | why pulls wait while nothing of them moves |
//! | `order` | pulls that real machines carry out |
//! | `collector` | the deletion of a failed pull's leftovers |
//! | `space`, `disk_space` | the space on a disk, and pulls that do not fit |
//! | `image_collection` | images that the kubelet removes, and nodes whose disks are nearly full |
//! | `unpack`, `disk` | unpacking layers, and the disk to which they are written |
//! | `runtime` | requests of a pull, retries, and pulls that stall |
//! | `spec` | the settings |

pub(super) mod catalog;
mod collector;
pub(super) mod disk;
pub(super) mod disk_space;
mod image_collection;
pub(super) mod node;
pub(super) mod order;
pub(super) mod pull;
pub(super) mod pull_error;
pub(super) mod pull_progress;
pub(super) mod pull_wait;
pub(super) mod runtime;
pub(super) mod space;
#[cfg(test)]
mod space_tests;
pub(super) mod spec;
mod unpack;
