//! The table that compares a world's needs with its limits. The resource that needs the most time comes first.

use fleetsim::world::{ResourceNeed, WorldSpec, resource_needs};

/// Maximum number of listed resources.
const MOST_ROWS: usize = 12;

/// A row of the table.
type NeedCells = [String; 4];

/// The table with its heading.
pub(super) fn table(world: &WorldSpec) -> String {
    let needs = resource_needs(world);
    if needs.is_empty() {
        return "needs against limits: no resource limit takes time\n".to_owned();
    }
    let mut rows: Vec<NeedCells> =
        vec![["resource", "needs", "limit", "least time"].map(str::to_owned)];
    rows.extend(needs.iter().take(MOST_ROWS).map(cells));
    let mut text = String::from(
        "needs against limits, before any rule of a product, without faults and retries\n",
    );
    let widths = [0, 1, 2, 3].map(|column| width(&rows, column));
    for [resource, needed, limit, least] in &rows {
        text.push_str(&format!(
            "  {resource:0$}  {needed:>1$}  {limit:2$}  {least:>3$}\n",
            widths[0], widths[1], widths[2], widths[3]
        ));
    }
    if needs.len() > MOST_ROWS {
        text.push_str(&format!("  and {} faster ones\n", needs.len() - MOST_ROWS));
    }
    let mut applications = world.applications.iter();
    if applications.any(|application| !application.later.is_empty()) {
        text.push_str("  these are the needs of the first releases only\n");
    }
    if world.distribution.pre_pull.is_some() {
        text.push_str("  the pre-pull needs these from its start, before the release\n");
    }
    text
}

fn cells(need: &ResourceNeed) -> NeedCells {
    [
        need.resource.clone(),
        need.amount.to_string(),
        need.limit.clone(),
        need.least.to_string(),
    ]
}

/// The width of a column.
fn width(rows: &[NeedCells], column: usize) -> usize {
    let widths = rows.iter().map(|row| row[column].chars().count());
    widths.max().unwrap_or(0)
}
