//! The pages as a browser gets them, rendered from the views of the gallery.

#[path = "../../examples/gallery/fixtures/mod.rs"]
mod fixtures;

mod assets;
mod escaping;
mod html;
mod overview_reviews;
mod pages;
mod reviews;
