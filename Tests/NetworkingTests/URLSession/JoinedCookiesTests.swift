#if URLSession
import TestSupport
import Testing

import Networking
@testable import NetworkingURLSession

struct JoinedCookiesTests {
    @Test(
        arguments: [
            ["a=1"],
            ["a=1", "b=2"],
            ["a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Path=/", "b=2"],
            ["a=1; expires=Wednesday, 09-Jun-2100 10:18:14 GMT", "b=2"],
            ["a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT", "b"],
            // A cookie without a name does not become part of the previous cookie's last attribute.
            ["a=1; Secure", "b"],
            ["a=1; HttpOnly", "b", "c=3"],
            ["a=1; Path=/", "b; Secure", "c=3"],
            ["a=1; Max-Age=60", "2"],
            ["a=1; Expires=Wed", "b"],
            // Dates that servers write in their own way, with blanks after the comma or their parts in another order.
            ["a=1; Expires=Sun,  9 Dec 2012 13:42:05 GMT", "b=2"],
            ["a=1; Expires=Sun, Dec  9 13:42:05 2012", "b"],
            ["a=1; Expires=Sun, 13:42:05 GMT, 9 Dec 2012; Path=/", "b=2"],
            ["a=1; Expires=Dec 9, 2012, 13:42:05", "b"],
            ["a=1; Expires=9 Dec, 13:42:05, 2012, GMT".replacing(", GMT", with: ""), "b"],
            ["a=1; Expires=9 Dec 2012, Sunday, 13:42:05", "b"],
            ["a=1; Expires=9 Dec 2012 13:42:05", "Sun"],
            ["a=1; Expires=Sun, 9 Dec 2012 13:42:05 GMT", "5", "c=3"],
            ["a=1; Expires=0", "b"],
            ["a=1; Expires=", "b"],
            ["a=1; SameSite=Lax", "=2"],
            // A comma within a value or an attribute does not remove the following attributes.
            ["a=x,y=z; Path=/", "b=2"],
            ["a=hello, world; Secure", "b=2"],
            ["a=1; Comment=hello, world; Secure", "b=2"],
        ]
    )
    func splitsJoinedCookies(fields: [String]) {
        #expect(JoinedCookies.split(fields.joined(separator: ", ")) == fields)
    }

    @Test(arguments: ["a", ";a", "a; Expires=Wed", "a; Comment=b"])
    func splitsALongValueInLinearTime(part: String) {
        let values = [500, 8_000]
            .map { count in
                "a=1; " + String(repeating: "x", count: count) + String(repeating: ", \(part)", count: count)
            }
        #expect(isLinear(values[0], values[1]) { _ = JoinedCookies.split($0) })
    }

    @Test func leavesOutEmptyFields() {
        #expect(JoinedCookies.split(", a=1; Secure, , b=2") == ["a=1; Secure", "b=2"])
        #expect(JoinedCookies.split("").isEmpty)
    }
}
#endif
