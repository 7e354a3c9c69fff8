//! Rancher Fleet.
