//! Numbers, money and durations as text, the same in findings, commands, pages and reports.

use std::time::Duration;

/// "18,204"
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "950", "12.3k", "120k", "4.5M", "1.9G"
pub fn compact(number: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G")];
    let rounded = |unit: u64| number.saturating_add(unit / 2) / unit;
    // A value that rounds to 1000 becomes 1 of the next unit.
    let unit = UNITS.iter().take_while(|(unit, _)| rounded(unit / 1_000) >= 1_000).last();
    match unit {
        None => number.to_string(),
        Some((unit, letter)) => match rounded(unit / 10) {
            tenths @ 0..1_000 => format!("{}.{}{letter}", tenths / 10, tenths % 10),
            _ => format!("{}{letter}", rounded(*unit)),
        },
    }
}

/// "1 loop", "1,200 loops"
pub fn pluralize(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), plural_ending(number))
}

/// "1 token", "12.3k tokens"
pub fn tokens(number: u64) -> String {
    format!("{} token{}", compact(number), plural_ending(number))
}

fn plural_ending(number: u64) -> &'static str {
    if number == 1 { "" } else { "s" }
}

/// "$0", "<$0.01", "$1,204.18"; from millionths of a US dollar.
pub fn dollars(micros: u64) -> String {
    match micros {
        0 => "$0".to_owned(),
        1..10_000 => "<$0.01".to_owned(),
        _ => {
            let cents = micros.saturating_add(5_000) / 10_000;
            format!("${}.{:02}", grouped(cents / 100), cents % 100)
        }
    }
}

/// [`dollars`], or a dash: a cost of zero mostly means that the price is unknown.
pub fn dollars_or_dash(micros: u64) -> String {
    if micros == 0 { "-".to_owned() } else { dollars(micros) }
}

/// "$1.20", "~$3.40", or a dash: the known cost, and what has no price at the assumed one.
pub fn cost(micros: u64, unpriced_micros: u64) -> String {
    match (unpriced_micros, micros.saturating_add(unpriced_micros)) {
        (0, known) => dollars_or_dash(known),
        (_, assumed) => format!("~{}", dollars(assumed.max(10_000))),
    }
}

/// "22 s", "1 min 48 s", "41 min", "1 h 4 min", "3 days". The script of the pages follows the same rules.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    let two = |large: u64, unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {small_unit}"),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..120 => two(1, "min", seconds - 60, "s"),
        120..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => two(seconds / 3_600, "h", seconds / 60 % 60, "min"),
        _ => pluralize(seconds / 86_400, "day"),
    }
}

/// "45 seconds", "12 minutes": for sentences.
pub fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => pluralize(seconds, "second"),
        seconds => pluralize(seconds / 60, "minute"),
    }
}

/// "just now", "5m ago"
pub fn ago(time: Duration) -> String {
    if time.as_secs() < 5 { "just now".to_owned() } else { format!("{} ago", largest_unit(time)) }
}

/// "in 5m"
pub fn from_now(time: Duration) -> String {
    format!("in {}", largest_unit(time))
}

fn largest_unit(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// "Waits for a worker": the first letter in upper case.
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}", chars.as_str())
}

/// "Waits for a worker.": a clause as a sentence.
pub fn sentence(clause: &str) -> String {
    capitalized(clause) + "."
}

/// "A", "A and B", "A, B and C"
pub fn list_of(items: &[impl AsRef<str>]) -> String {
    let Some((last, first)) = items.split_last() else { return String::new() };
    let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
    match first.is_empty() {
        true => last.as_ref().to_owned(),
        false => format!("{} and {}", first.join(", "), last.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn compact_numbers_have_at_most_three_digits_or_one_decimal() {
        assert_eq!([0, 950, 999, 1_000, 12_345].map(compact), ["0", "950", "999", "1.0k", "12.3k"]);
        assert_eq!([99_949, 99_950, 120_000, 999_499].map(compact), ["99.9k", "100k", "120k", "999k"]);
        assert_eq!([999_500, 4_500_000, 999_999_999].map(compact), ["1.0M", "4.5M", "1.0G"]);
        assert_eq!([1_900_000_000, 5_000_000_000_000].map(compact), ["1.9G", "5000G"]);
        assert_eq!(compact(u64::MAX), "18446744073G");
    }

    #[test]
    fn only_one_is_singular() {
        assert_eq!(
            [0, 1, 2, 1_200].map(|number| pluralize(number, "call")),
            ["0 calls", "1 call", "2 calls", "1,200 calls"]
        );
        assert_eq!([0, 1, 12_345].map(tokens), ["0 tokens", "1 token", "12.3k tokens"]);
    }

    #[test]
    fn money_is_rounded_to_cents() {
        assert_eq!([0, 1, 9_999, 10_000].map(dollars), ["$0", "<$0.01", "<$0.01", "$0.01"]);
        assert_eq!([14_999, 15_000, 1_204_184_000].map(dollars), ["$0.01", "$0.02", "$1,204.18"]);
        assert_eq!([0, 9_000, 50_000].map(dollars_or_dash), ["-", "<$0.01", "$0.05"]);
        assert_eq!(
            [(0, 0), (0, 5), (0, 50_000), (20_000, 50_000)].map(|(known, bound)| cost(known, bound)),
            ["-", "~$0.01", "~$0.05", "~$0.07"]
        );
    }

    #[test]
    fn durations_use_the_largest_unit_that_fits() {
        let of = |format: fn(Duration) -> String, seconds: [u64; 4]| seconds.map(|s| format(Duration::from_secs(s)));
        assert_eq!(of(minutes, [1, 45, 60, 720]), ["1 second", "45 seconds", "1 minute", "12 minutes"]);
        assert_eq!(of(ago, [4, 5, 3_599, 86_400]), ["just now", "5s ago", "59m ago", "1d ago"]);
        assert_eq!(of(from_now, [0, 60, 7_200, 172_800]), ["in 0s", "in 1m", "in 2h", "in 2d"]);
    }

    #[test]
    fn durations_have_at_most_two_units() {
        let of = |seconds: &[u64]| -> Vec<String> {
            seconds.iter().map(|seconds| duration(Duration::from_secs(*seconds))).collect()
        };
        assert_eq!(of(&[0, 22, 59, 60, 108, 119]), ["0 s", "22 s", "59 s", "1 min", "1 min 48 s", "1 min 59 s"]);
        assert_eq!(of(&[120, 2_460, 3_599, 3_600, 3_840]), ["2 min", "41 min", "59 min", "1 h", "1 h 4 min"]);
        assert_eq!(of(&[86_399, 86_400, 172_799, 172_800]), ["23 h 59 min", "1 day", "1 day", "2 days"]);
    }

    #[test]
    fn a_clause_becomes_a_sentence() {
        assert_eq!(["waits for Codex", "élan", ""].map(sentence), ["Waits for Codex.", "Élan.", "."]);
    }

    #[test]
    fn lists_have_one_and() {
        assert_eq!([list_of(&[""; 0]), list_of(&["A"]), list_of(&["A", "B"])], ["", "A", "A and B"]);
        assert_eq!(list_of(&["A", "B", "C"]), "A, B and C");
    }
}
