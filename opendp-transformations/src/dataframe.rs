//! Tables of text, and frames of named columns.

// Constructors.
mod create_dataframe;
mod df_cast_default;
mod df_is_equal;
mod select_column;
mod split_dataframe;
mod split_lines;
mod split_records;
mod subset_by;

// Shared code.
mod replaced;

pub use create_dataframe::make_create_dataframe;
pub use df_cast_default::make_df_cast_default;
pub use df_is_equal::make_df_is_equal;
pub use select_column::make_select_column;
pub use split_dataframe::make_split_dataframe;
pub use split_lines::make_split_lines;
pub use split_records::make_split_records;
pub use subset_by::make_subset_by;
