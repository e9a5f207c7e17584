package import FoundationForNetworking

extension Date {
    /// Parses a date in any of HTTP's three formats (RFC 9110 section 5.6.7); `nil` if it is invalid.
    ///
    /// The day of the week is not checked against the date.
    ///
    /// - Parameters:
    ///   - text: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///   - now: The date that determines the century of a year with two digits, which is at most 50 years ahead.
    package init?(httpDate text: some StringProtocol, now: Date = Date()) {
        let parts = text.split { $0 == " " || $0 == "," || $0 == "-" }
        let fields: (day: Substring, month: Substring, year: Substring, time: Substring)
        switch parts.count {
        case 6 where parts[5] == "GMT" || parts[5] == "UTC":
            fields = (Substring(parts[1]), Substring(parts[2]), Substring(parts[3]), Substring(parts[4]))
        case 5:
            fields = (Substring(parts[2]), Substring(parts[1]), Substring(parts[4]), Substring(parts[3]))
        default:
            return nil
        }
        let clock = fields.time.split(separator: ":", omittingEmptySubsequences: false).map(Self.number)
        guard let day = Self.number(fields.day), let month = Self.httpMonth(named: fields.month),
            var year = Self.number(fields.year), fields.year.count == 4 || fields.year.count == 2,
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2], second <= 60
        else { return nil }
        if fields.year.count == 2 {
            let current = Self.year(of: now)
            year += current / 100 * 100
            if year > current + 50 {
                year -= 100
            }
        }
        self.init(year: year, month: month, day: day, hour: hour, minute: minute, second: min(second, 59))
    }

    /// Creates a date from its parts in UTC; `nil` if the calendar has no such day or the day no such time.
    ///
    /// The first year is 1, which is also the first one that ``httpDate`` writes.
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard year >= 1, 1...12 ~= month, 1...Self.days(inMonth: month, of: year) ~= day, 0..<24 ~= hour,
            0..<60 ~= minute, 0..<60 ~= second
        else { return nil }
        let days = Self.days(toYear: year, month: month, day: day)
        // In floating point, because Int has 32 bits on a watch.
        self.init(timeIntervalSince1970: Double(days) * 86_400 + Double((hour * 60 + minute) * 60 + second))
    }

    /// Returns the number of a month, from 1, by the first three letters of its English name in any case.
    package static func httpMonth(named name: some StringProtocol) -> Int? {
        months.firstIndex(of: name.lowercased()).map { $0 + 1 }
    }

    /// The date in HTTP's format, to the second: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var httpDate: String {
        let seconds = bounded.timeIntervalSince1970.rounded(.down)
        let days = Int((seconds / 86_400).rounded(.down))
        let rest = Int(seconds - Double(days) * 86_400)
        let (year, month, day) = Self.civil(fromDays: days)
        let weekday = Self.weekdays[(days + 4).floored(by: 7).remainder]
        let name = Self.months[month - 1].prefix(1).uppercased() + Self.months[month - 1].dropFirst()
        let time = [rest / 3_600, rest / 60 % 60, rest % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        return "\(weekday), \(Self.padded(day, 2)) \(name) \(Self.padded(year, 4)) \(time) GMT"
    }

    /// The date, moved into the years 1 to 9999; 1970 for a date that is not a number.
    ///
    /// Converting another date to an integer or to text would end the process.
    package var bounded: Date {
        let seconds = timeIntervalSince1970
        guard !seconds.isNaN else { return Date(timeIntervalSince1970: 0) }
        return Date(timeIntervalSince1970: min(max(seconds, -62_135_596_800), 253_402_300_799))
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// Returns the number of a text of at most four digits.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.count <= 4 ? DecimalDigits.number(text.utf8).map { Int($0) } : nil
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func year(of date: Date) -> Int {
        civil(fromDays: Int((date.bounded.timeIntervalSince1970 / 86_400).rounded(.down))).year
    }

    // Both use the calendar's cycle of 400 years, which has 146,097 days. Years start in March, so that the leap day is
    // last.

    private static func days(toYear year: Int, month: Int, day: Int) -> Int {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).floored(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = (days + 719_468).floored(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}

extension Int {
    /// Returns the quotient rounded down, and the remainder.
    fileprivate func floored(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
