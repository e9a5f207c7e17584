import FoundationForNetworking
import NetworkingCore

extension Date {
    /// Parses the date of a cookie, with its parts in any order (RFC 6265bis section 5.1.1); `nil` if a part is missing
    /// or invalid.
    init?(cookieDate text: String) {
        guard let date = CookieDate(text[...]).date else { return nil }
        self = date
    }
}

/// The parts of a cookie's date that a text contains, in any order (RFC 6265bis section 5.1.1).
package struct CookieDate {
    private var time: [Int]?
    private var day: Int?
    private var month: Int?
    private var year: Int?

    /// Finds the parts in a text.
    package init(_ text: Substring) {
        add(text)
    }

    /// Adds the missing parts that more text contains.
    ///
    /// - Parameter text: Text that follows the text before it after a delimiter, such as a comma.
    /// - Returns: Whether it contains one, or the name of the weekday of an incomplete date.
    @discardableResult
    package mutating func add(_ text: Substring) -> Bool {
        var hasAdded = false
        for token in text.utf8.split(whereSeparator: Self.isDelimiter) {
            if time == nil, let found = Self.time(token) {
                time = found
            } else if day == nil, let found = Self.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.month(token) {
                month = found
            } else if year == nil, let found = Self.number(token, digits: 2...4) {
                year = found < 70 ? found + 2_000 : found < 100 ? found + 1_900 : found
            } else if isComplete || !Self.weekdays.contains(Substring(token.prefix(3)).lowercased()) {
                continue
            }
            hasAdded = true
        }
        return hasAdded
    }

    private var isComplete: Bool {
        time != nil && day != nil && month != nil && year != nil
    }

    private static let weekdays: Set = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    /// The date; `nil` if a part is missing or invalid.
    var date: Date? {
        guard let time, let day, let month, let year, year >= 1_601 else { return nil }
        return Date(year: year, month: month, day: day, hour: time[0], minute: time[1], second: time[2])
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Parses hours, minutes and seconds, and ignores text after them that does not start with a digit.
    private static func time(_ token: Substring.UTF8View) -> [Int]? {
        let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3, fields[0].count <= 2, fields[1].count <= 2 else { return nil }
        let numbers = [integer(fields[0]), integer(fields[1]), number(fields[2], digits: 1...2)].compactMap { $0 }
        return numbers.count == 3 ? numbers : nil
    }

    private static func integer(_ field: Substring.UTF8View) -> Int? {
        DecimalDigits.number(field).map { Int($0) }
    }

    /// Parses the digits at the start of a token; `nil` if the number of digits is out of bounds.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let head = token.prefix(while: DecimalDigits.contains)
        return digits.contains(head.count) ? integer(head) : nil
    }

    private static func month(_ token: Substring.UTF8View) -> Int? {
        Date.httpMonth(named: Substring(token.prefix(3)))
    }
}
