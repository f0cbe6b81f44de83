//! One set of features for the dependencies that the packages of the workspace share.
//!
//! There is no code here: the manifest says what it is for.
#![forbid(unsafe_code)]
