import Foundation
import Networking
import TestSupport
import Testing

@Suite(.tags(.memory))
struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        // A leap second counts as the second before it.
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_799),
        ("Wed, 09-Jun-2100 10:18:14 GMT", 4_116_219_494),
    ])
    func readsEachForm(text: String, seconds: Int) {
        #expect(Date(httpDate: text) == Date(timeIntervalSince1970: Double(seconds)))
    }

    @Test(arguments: [
        "", "now", "120", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Feb 2023 00:00:00 GMT",
        "Sun, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 19944 08:49:37 GMT", "Sun, 06 Nov 994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT and more", "Sun, 99999999999999999999 Nov 1994 08:49:37 GMT",
        "Sat, 01 Jan 0000 00:00:00 GMT",
    ])
    func rejectsOtherText(text: String) {
        #expect(Date(httpDate: text) == nil)
    }

    /// RFC 9110, section 5.6.7: a year more than 50 years in the future is the latest past year with these digits.
    @Test(arguments: [("76", 2076), ("77", 1977), ("99", 1999), ("00", 2000), ("26", 2026)])
    func completesAYearOfTwoDigits(digits: String, year: Int) throws {
        let now = try #require(Date(httpDate: "Sat, 21 Nov 2026 00:00:00 GMT"))
        let date = Date(httpDate: "Sunday, 06-Nov-\(digits) 08:49:37 GMT", now: now)
        #expect(date?.httpDate.contains("Nov \(year)") == true)
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Wed, 31 Dec 1969 23:59:59 GMT",
        "Thu, 29 Feb 2024 23:59:59 GMT", "Mon, 01 Mar 2100 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
    ])
    func datesSurviveARoundTrip(text: String) {
        #expect(Date(httpDate: text)?.httpDate == text)
    }

    /// A step of 37 days is coprime with weeks, months and leap years, so the test covers each date of a year.
    @Test func daysOfFourCenturiesSurviveARoundTrip() {
        for day in stride(from: -60_000, to: 86_097, by: 37) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 1)
            #expect(Date(httpDate: date.httpDate) == date)
        }
    }

    @Test func writesWholeSecondsWithinTheCalendar() {
        #expect(Date(timeIntervalSince1970: 0.9).httpDate == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(Date(timeIntervalSince1970: -0.1).httpDate == "Wed, 31 Dec 1969 23:59:59 GMT")
        #expect(Date.distantFuture.addingTimeInterval(1e12).httpDate == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(Date(timeIntervalSince1970: -.infinity).httpDate == "Mon, 01 Jan 0001 00:00:00 GMT")
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300])
    func dateThatIsNoMomentDoesNotTrap(seconds: Double) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(date.httpDate.hasSuffix("GMT"))
        #expect(HeaderField.ifModifiedSince(date).value.hasSuffix("GMT"))
        #expect(HeaderField.accept([.json: seconds]).value.hasPrefix("application/json"))
        #expect(date.queryTexts(in: QueryFormat()).count == 1)
    }
}
