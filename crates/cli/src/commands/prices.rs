//! `belay prices`: what models cost, and since when Belay says so.

use belay_core::prices::{ModelPrice, Prices};
use clap::Args;
use serde_json::{Value, json};

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::Table;

#[derive(Debug, Args)]
pub(crate) struct PricesArgs {
    /// A model, as the agent names it; by default all models of the built-in table.
    model: Option<String>,
}

pub(crate) fn run(context: &Context, args: &PricesArgs) -> CommandResult {
    let own = context.config(belay_config::Strictness::Lenient, &[])?.config.detect.prices;
    let models: Vec<String> = match &args.model {
        Some(model) => vec![model.clone()],
        None => {
            own.iter().map(|row| row.matches.clone()).chain(Prices::built_in().models().map(str::to_owned)).collect()
        }
    };
    let as_of = Prices::built_in().as_of;
    let headings = ["model", "from", "input", "output", "cache read", "cache write", "1h write", "source"];
    let mut table = Table::new(&headings).right_align(&[2, 3, 4, 5, 6]);
    let mut rows: Vec<Value> = Vec::new();
    for model in &models {
        let Some(price) = ModelPrice::for_model(model, &own) else {
            return Err(CommandError::new(format!("{model} has no price")).hint(
                "Belay never guesses from a similar name; add a row to `detect.prices`, or look for the exact name in \
                 `belay prices`",
            ));
        };
        let is_own = ModelPrice::for_model(model, &[]).as_ref() != Some(&price);
        let source = if is_own { "your configuration".to_owned() } else { format!("built in, {as_of}") };
        for (from, rates) in price.rates() {
            let from_text = if from == 0 { String::new() } else { format!("> {from} tokens") };
            let mut cells = vec![model.clone(), from_text];
            cells.extend(rates.iter().map(|rate| format!("{rate}")));
            cells.push(source.clone());
            table.row(cells);
            rows.push(json!({
                "model": model, "above_input_tokens": from, "input": rates[0], "output": rates[1],
                "cache_read": rates[2], "cache_write": rates[3], "cache_write_1h": rates[4],
                "window": price.window, "source": if is_own { "config" } else { "built_in" },
                "as_of": (!is_own).then_some(as_of),
            }));
        }
    }
    if context.out.json {
        rows.iter().try_for_each(|row| context.out.json(row))?;
    } else {
        table.print(&context.out)?;
        context.out.info("US dollars per million tokens.");
    }
    Ok(ExitStatus::Done)
}
