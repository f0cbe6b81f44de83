//! Advice about names that other databases know.

/// Say what to write instead of a function that does not exist.
pub(super) fn of_function(name: &str) -> &'static str {
    match name.to_ascii_lowercase().as_str() {
        "date_diff" | "datediff" | "timestamp_diff" | "timestampdiff" | "age"
        | "months_between" | "days_between" => {
            "For the number of days between two dates, write d - e, as in \
             CAST(t AS DATE) - DATE '2020-01-31'"
        }
        "date_add" | "dateadd" | "adddate" | "date_sub" | "datesub" | "subdate" | "add_months"
        | "timestamp_add" | "timestamp_sub" | "timestampadd" => {
            "Write d + INTERVAL '7 day' or d - INTERVAL '7 day'"
        }
        "year" | "quarter" | "month" | "week" | "weekofyear" | "day" | "dayofmonth"
        | "dayofweek" | "dayofyear" | "weekday" | "hour" | "minute" | "second" => {
            "Write EXTRACT(YEAR FROM d), with the name of the part"
        }
        "date" | "datetime" | "timestamp" | "str_to_date" | "parse_date" => {
            "Write CAST(t AS DATE) or CAST(d AS TIMESTAMP), and literals as DATE '2020-01-31'"
        }
        "last_day" | "month_trunc" | "datetime_trunc" | "timestamp_trunc" => {
            "Write date_trunc('month', d)"
        }
        "date_format" | "format_date" | "strftime" => {
            "Write date_trunc('month', d) or EXTRACT(MONTH FROM d)"
        }
        "getdate" | "sysdate" | "curdate" | "current_datetime" | "localtimestamp" => {
            "The answer must not depend on the time of the query: write a literal, as in \
             DATE '2020-01-31'"
        }
        "count_if" | "countif" | "sum_if" | "sumif" | "avg_if" | "avgif" => {
            "Write COUNT(*) FILTER (WHERE x > 1), with the aggregate and the condition"
        }
        "safe_divide" | "div0" => "Write 1.0 * x / NULLIF(y, 0)",
        "percentile" | "percentile_approx" | "percentile_disc" | "approx_quantiles"
        | "approx_percentile" | "quantile_cont" => "Write quantile(x, 0.9)",
        _ => {
            "The aggregates are COUNT, SUM, AVG, VAR, STDDEV, MIN, MAX, MEDIAN and \
             quantile(x, 0.9). For a condition of each row, use CASE WHEN"
        }
    }
}
/// If the name of a missing column is a word of other databases, say what to write instead.
pub(super) fn of_column(name: &str) -> Option<&'static str> {
    match name {
        "all" => Some("After ORDER BY, name each column"),
        "year" | "quarter" | "month" | "week" | "day" | "hour" | "minute" | "second" => {
            Some("A period is a text before the date, as in date_trunc('month', d)")
        }
        _ => None,
    }
}
