//! Numbers as people read them.

/// Digits in groups of three: `1,234,567`.
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

/// A number with its noun: `1 race`, `2 races`.
pub(crate) fn counted(number: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { singular } else { plural })
}

/// A number of bytes with a binary unit: `512 B`, `1.5 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    scaled(number as f64, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

/// A rate with a decimal unit: `250`, `28.5M`.
pub(crate) fn rate(per_second: f64) -> String {
    scaled(per_second, 1000.0, &["", "k", "M", "G"])
}

/// A duration in seconds with three significant digits or so.
pub(crate) fn seconds(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        100.0.. => format!("{seconds:.0} s"),
        1.0.. => format!("{seconds:.2} s"),
        _ => format!("{:.1} ms", seconds * 1e3),
    }
}

fn scaled(number: f64, base: f64, units: &[&str]) -> String {
    let mut number = number;
    let mut units = units.iter();
    let mut unit = units.next().unwrap_or(&"");
    let mut whole = true;
    for larger in units {
        if number < base - 0.05 {
            break;
        }
        number /= base;
        unit = larger;
        whole = false;
    }
    if whole { format!("{number:.0}{unit}") } else { format!("{number:.1}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(
            [0, 12, 999, 1000, 123_456, 1_234_567].map(grouped).join(" "),
            "0 12 999 1,000 123,456 1,234,567"
        );
    }

    #[test]
    fn bytes_have_binary_units() {
        assert_eq!(
            [0, 1023, 1024, 1536, 1 << 20, 5 << 30].map(bytes).join(" "),
            "0 B 1023 B 1.0 KiB 1.5 KiB 1.0 MiB 5.0 GiB"
        );
    }

    #[test]
    fn rates_have_decimal_units() {
        assert_eq!([0.0, 999.0, 28_500_000.0].map(rate).join(" "), "0 999 28.5M");
    }

    #[test]
    fn short_times_are_in_milliseconds() {
        assert_eq!(seconds(Duration::from_micros(1500)), "1.5 ms");
        assert_eq!(seconds(Duration::from_millis(1500)), "1.50 s");
        assert_eq!(seconds(Duration::from_secs(150)), "150 s");
    }
}
