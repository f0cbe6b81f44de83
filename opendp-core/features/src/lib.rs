//! One set of features for the dependencies that the packages of the workspace share.
//!
//! There is no code here. The comments in the manifest state the purpose.
#![forbid(unsafe_code)]
