//! The targets and their results. Only values of the same run are compared.

/// One target at one size.
pub(crate) struct Row {
    pub(crate) size: &'static str,
    pub(crate) streaming: bool,
    pub(crate) name: &'static str,
    /// All in microseconds.
    pub(crate) first: f64,
    pub(crate) added: f64,
    pub(crate) cpu: f64,
}

/// All results that have a target.
#[derive(Default)]
pub(crate) struct Bars {
    pub(crate) rows: Vec<Row>,
    pub(crate) per_second: Option<f64>,
    pub(crate) memory: Option<[f64; 3]>,
}

impl Bars {
    pub(crate) fn print(&self) {
        println!("\n{:<44} {:>8} {:>8}", "belay", "measured", "bar");
        for row in self.rows.iter().filter(|row| row.name == "belay") {
            let other = |name: &str| {
                self.rows
                    .iter()
                    .find(|other| (other.size, other.streaming, other.name) == (row.size, row.streaming, name))
            };
            let what =
                |what: &str| format!("{}, {} {what}", row.size, if row.streaming { "streamed" } else { "plain" });
            if let Some(nginx) = other("nginx") {
                if row.streaming {
                    at_most(&what("first byte / nginx"), row.first / nginx.first, 1.5);
                } else {
                    let bar = if row.size == "1 KB" { 2.0 } else { 1.2 };
                    at_most(&what("added p50 / nginx"), row.added / nginx.added, bar);
                }
            }
            // Without a bar: the readable proxy trades CPU time for one read point and plain rows in the log.
            if let Some(hyper) = other("hyper") {
                println!("{:<44} {:>8.2}", what("CPU / hyper"), row.cpu / hyper.cpu);
            }
            if !row.streaming {
                for (name, bar) in [("portkey", 10.0), ("litellm", 50.0)] {
                    if let Some(other) = other(name) {
                        at_least(&what(&format!("{name} / added p50")), other.added / row.added, bar);
                    }
                }
            }
            if (row.size, row.streaming) == ("1 KB", false) {
                at_most(&what("added p50, ms (idle machine)"), row.added / 1000.0, 0.3);
            }
        }
        if let Some(per_second) = self.per_second {
            at_least("requests a second (idle machine)", per_second, 5000.0);
        }
        if let Some([idle, peak, after]) = self.memory {
            at_most("idle, MB", idle, 15.0);
            at_most("256 x 1 MB at once, MB", peak, 600.0);
            at_most("afterwards, MB", after, 60.0);
        }
    }
}

fn at_most(what: &str, measured: f64, bar: f64) {
    line(what, measured, bar, measured <= bar);
}

fn at_least(what: &str, measured: f64, bar: f64) {
    line(what, measured, bar, measured >= bar);
}

fn line(what: &str, measured: f64, bar: f64, met: bool) {
    println!("{what:<44} {measured:>8.2} {bar:>8}{}", if met { "" } else { "  MISSED" });
}
