import Foundation
import Networking
import TestSupport
import Testing

@testable import NetworkingCookies
@testable import NetworkingCore

struct CookieDateTests {
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "06 Nov 1994 08:49:37", "1994 Nov 6 8:49:37", "08:49:37 6 november 94", "6-nov-1994 08:49:37 +0200",
        "Sun, 06 Nov 1994 08:49:37.123 GMT", "nov 6 94 08:49:37 PST", "Sun,06,Nov,1994,08:49:37",
        "6th Nov 1994 08:49:37x", "Sun, 06 Nov 1994 08:49:37 GMT 07 Dec 1995 09:50:38",
    ])
    func readsItsPartsInAnyOrder(text: String) {
        #expect(Date(cookieDate: text) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test(arguments: [
        ("01 Jan 70 00:00:00", 1_970), ("01 Jan 99 00:00:00", 1_999), ("01 Jan 00 00:00:00", 2_000),
        ("01 Jan 69 00:00:00", 2_069), ("01 Jan 1601 00:00:00", 1_601), ("01 Jan 9999 00:00:00", 9_999),
    ])
    func yearsOfTwoDigitsStartIn1970(text: String, year: Int) {
        #expect(Date(cookieDate: text) == Date(year: year, month: 1, day: 1, hour: 0, minute: 0, second: 0))
    }

    @Test(arguments: [
        "", "soon", "0", "Sun, 06 Nov 1994", "06 Nov 08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37",
        "00 Nov 1994 08:49:37", "32 Jan 1994 08:49:37", "30 Feb 2024 08:49:37", "29 Feb 2023 08:49:37",
        "06 Nov 1994 24:00:00", "06 Nov 1994 08:60:00", "06 Nov 1994 08:49:60", "06 Nov 1994 08:49",
        "06 Nov 1994 008:49:37", "06 Nov 1994 08:49:371", "06 Nov 1600 08:49:37", "06 Nov 19944 08:49:37",
        "06 Nov 1 08:49:37", "06 Nov 100 08:49:37", "06 Nov 1994 08:049:37", "06 Nov 1994 08::49:37",
        "６ Nov 1994 08:49:37", "06 Nov 1994 :49:37", "06 Nov 1994 ::",
    ])
    func rejectsTextThatIsNoDate(text: String) {
        #expect(Date(cookieDate: text) == nil)
    }

    /// Every byte that separates tokens, and bytes next to them that do not.
    @Test(arguments: 0x01...0x7F as ClosedRange<UInt8>)
    func separatesTokensAtDelimitersOnly(byte: UInt8) {
        let ranges: [ClosedRange<UInt8>] = [0x09...0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E]
        let text = ["06", "Nov", "1994", "08:49:37"].joined(separator: String(UnicodeScalar(byte)))
        #expect((Date(cookieDate: text) != nil) == ranges.contains { $0.contains(byte) })
    }

    @Test(arguments: [
        ("Wed", "09 Jun 2100 10:18:14 GMT", true), ("Wed", "Thu", true), ("09 Jun 2100", "10:18:14", true),
        ("09 Jun 2100 10:18:14", "Wed", false), ("09 Jun 2100 10:18:14", "5", false), ("09 Jun 2100", "b", false),
        ("09 Jun 2100", "GMT", false), ("09 Jun 10:18:14", "2100", true), ("Jun 2100 10:18:14", "9", true),
        ("10:18:14", "Wed", true), ("10:18:14 9", "Wed", true), ("10:18:14 9 Jun", "Wed", true),
    ])
    func textAddsTheMissingPartsOnly(text: String, more: String, adds: Bool) {
        var date = CookieDate(text[...])
        #expect(date.add(more[...]) == adds)
    }
}
