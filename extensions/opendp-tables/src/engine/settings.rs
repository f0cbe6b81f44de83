//! Settings with which DataFusion reads each row independently of the other rows.
//!
//! A Parquet file has statistics, such as the least and the largest cell of a column. The
//! statistics depend on all rows of the file. By default, DataFusion uses them to decide how rows
//! are read. A column whose least and largest cells are equal becomes a constant. Rows that cannot
//! meet a condition are skipped. But the statistics leave NaN out. Also, a condition with a cast
//! can be true for a cell although it is false for the least and the largest cell. So one more row
//! could change the cells of other rows, or decide whether other rows are read. No loss accounts
//! for such a change. With these settings, DataFusion does not read the statistics.

use datafusion::config::ConfigOptions;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::cache::cache_manager::CacheManagerConfig;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionContext;

/// The rules of the physical planner that are left out. These rules pass conditions to the sources
/// of rows, or replace parts of a plan by statistics or claims of the sources.
const LEFT_OUT: [&str; 4] =
    ["aggregate_statistics", "FilterPushdown", "FilterPushdown(Post)", "PushdownSort"];

/// Make a context whose physical planner passes no conditions to the sources of rows. So the reader
/// of a file cannot compare a condition with statistics of the file, whatever the options of the
/// table are. The logical planner still passes conditions to tables that request them.
/// `Source::Provider` states what such a table must not do.
///
/// The context does not remember the files of a folder. So a question checks exactly the files that
/// its plan reads, even if files were added after the table was opened.
pub(super) fn context() -> SessionContext {
    let mut rules = PhysicalOptimizer::new().rules;
    rules.retain(|rule| !LEFT_OUT.contains(&rule.name()));
    let caches = CacheManagerConfig::default()
        .with_list_files_cache_limit(0)
        .with_file_statistics_cache_limit(0);
    // The default runtime has the same parts, except for the limits of these caches. If this
    // runtime cannot be built, the default runtime cannot be built, either.
    let runtime = RuntimeEnvBuilder::new().with_cache_manager(caches).build_arc();
    let state = SessionStateBuilder::new().with_default_features();
    let state = match runtime {
        Ok(runtime) => state.with_runtime_env(runtime),
        Err(_) => state,
    };
    SessionContext::new_with_state(state.with_physical_optimizer_rules(rules).build())
}
/// Set the options so that each row is read independently of the other rows. The client of a
/// cluster sends these options to the cluster.
pub(super) fn read_rows_by_themselves(options: &mut ConfigOptions) {
    let execution = &mut options.execution;
    execution.collect_statistics = false;
    execution.split_file_groups_by_statistics = false;
    let parquet = &mut execution.parquet;
    parquet.pruning = false;
    parquet.enable_page_index = false;
    parquet.bloom_filter_on_read = false;
    parquet.pushdown_filters = false;
    parquet.reorder_filters = false;
    let optimizer = &mut options.optimizer;
    optimizer.enable_dynamic_filter_pushdown = false;
    optimizer.enable_topk_dynamic_filter_pushdown = false;
    optimizer.enable_join_dynamic_filter_pushdown = false;
    optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    optimizer.enable_sort_pushdown = false;
    optimizer.prefer_existing_sort = false;
    optimizer.use_statistics_registry = false;
}
