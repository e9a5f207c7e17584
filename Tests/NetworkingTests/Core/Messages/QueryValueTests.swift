import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct QueryValueTests {
    private enum Order: String, QueryValue {
        case newest
    }

    private enum Shade: String, QueryValue, CustomStringConvertible {
        case red

        var description: String { "a shade of red" }
    }

    private struct Span: QueryValue {
        func queryTexts(in format: QueryFormat) -> [String] {
            ["1-2"]
        }
    }

    private func encoded(_ query: RequestQuery) -> String? {
        HTTPRequestData.get("a", query: query).query.encoded
    }

    @Test func writesTextNumbersAndTruthValues() {
        let (text, page, limit): (String, Int, Int?) = ("films & books", 2, 50)
        #expect(
            encoded(["q": text, "page": page, "limit": limit, "ratio": 1.5, "all": true])
                == "q=films%20%26%20books&page=2&limit=50&ratio=1.5&all=true"
        )
        #expect(encoded(["a": Int64.max, "b": UInt64.max, "c": Decimal(string: "1.10")]) != nil)
        #expect(encoded(["a": "x".dropFirst(0), "b": Float(0.5)]) == "a=x&b=0.5")
    }

    @Test func omitsNil() {
        let (cursor, limit): (String?, Int?) = (nil, nil)
        #expect(encoded(["cursor": cursor, "limit": limit, "none": nil]) == nil)
        #expect(encoded(["cursor": cursor, "page": 1]) == "page=1")
        #expect(encoded([:]) == nil)
    }

    @Test func writesCustomTypes() {
        #expect(
            encoded(["order": Order.newest, "shade": Shade.red, "span": Span()]) == "order=newest&shade=red&span=1-2"
        )
    }

    @Test(arguments: [
        (QueryFormat.ArrayStyle.repeated, "tag=a&tag=b,c&x=1"),
        (.brackets, "tag%5B%5D=a&tag%5B%5D=b,c&x=1"),
        (.commaSeparated, "tag=a,b%2Cc&x=1"),
    ])
    func writesArraysInAStyle(style: QueryFormat.ArrayStyle, expected: String) {
        let tags = ["a", "b,c"]
        #expect(encoded(RequestQuery(["tag": tags, "x": 1], format: QueryFormat(arrays: style))) == expected)
        let some: [String]? = tags
        #expect(encoded(RequestQuery(["tag": some, "x": 1], format: QueryFormat(arrays: style))) == expected)
        #expect(encoded(RequestQuery(["tag": [String]()], format: QueryFormat(arrays: style))) == nil)
    }

    @Test func writesDatesAndTruthValuesInAStyle() throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000.25)
        #expect(encoded(["t": date]) == "t=2023-11-14T22:13:20Z")
        #expect(encoded(RequestQuery(["t": date], format: QueryFormat(dates: .secondsSince1970))) == "t=1700000000")
        #expect(
            encoded(RequestQuery(["t": date], format: QueryFormat(dates: .millisecondsSince1970))) == "t=1700000000250"
        )
        #expect(encoded(RequestQuery(["t": Date.distantFuture], format: QueryFormat(dates: .secondsSince1970))) != nil)
        let far = Date(timeIntervalSince1970: .greatestFiniteMagnitude)
        #expect(encoded(RequestQuery(["t": far], format: QueryFormat(dates: .secondsSince1970))) != nil)
        #expect(encoded(RequestQuery(["b": false], format: QueryFormat(booleans: .digits))) == "b=0")
        let url = try #require(URL(string: "https://a.example/?b"))
        #expect(encoded(["u": url]) == "u=https://a.example/?b")
        let id = try #require(UUID(uuidString: "0F2A6C5E-1111-4222-8333-444455556666"))
        #expect(encoded(["id": id]) == "id=0F2A6C5E-1111-4222-8333-444455556666")
    }

    @Test func followsTheQueryOfThePath() {
        let request = HTTPRequestData(.post, "a?b=%7e", query: ["c": 1], headers: ["X-Id": "7"], body: .json(["d"]))
        #expect(request.method == .post)
        #expect(request.requestTarget == "/a?b=%7e&c=1")
        #expect(request.headerFields["x-id"] == "7")
        #expect(request.body?.data == Data(#"["d"]"#.utf8))
    }

    @Test func appendsQueries() {
        var query: RequestQuery = ["a": 1]
        #expect(!query.isEmpty)
        query.append(["a": 2])
        query.append([:])
        #expect(query.encoded == "a=1&a=2")
        var empty: RequestQuery = [:]
        #expect(empty.isEmpty)
        empty.append(["b": 1])
        #expect(empty.encoded == "b=1")
    }

    @Test func writesIntegersOfEveryWidth() {
        let query: RequestQuery = [
            "a": Int8.min, "b": Int16.max, "c": Int32.min, "d": UInt8.max, "e": UInt16.max, "f": UInt32.max,
        ]
        #expect(encoded(query) == "a=-128&b=32767&c=-2147483648&d=255&e=65535&f=4294967295")
    }

    @Test func writesNumbersThatAreNotFiniteByTheirNames() {
        #expect(encoded(["a": Double.nan, "b": Double.infinity, "c": -Float.infinity]) == "a=nan&b=inf&c=-inf")
    }

    @Test(arguments: [
        (QueryFormat.ArrayStyle.repeated, "d=2023-11-14T22:13:20Z&d=1970-01-01T00:00:00Z&b=1&b=0&o=newest&n=1&n=3"),
        (
            .brackets,
            "d%5B%5D=2023-11-14T22:13:20Z&d%5B%5D=1970-01-01T00:00:00Z&b%5B%5D=1&b%5B%5D=0&o%5B%5D=newest&n%5B%5D=1"
                + "&n%5B%5D=3"
        ),
        (.commaSeparated, "d=2023-11-14T22%3A13%3A20Z,1970-01-01T00%3A00%3A00Z&b=1,0&o=newest&n=1,3"),
    ])
    func writesArraysOfEveryKindInAStyle(style: QueryFormat.ArrayStyle, expected: String) {
        let dates = [Date(timeIntervalSince1970: 1_700_000_000), Date(timeIntervalSince1970: 0)]
        let numbers: [Int?] = [1, nil, 3]
        let format = QueryFormat(arrays: style, booleans: .digits)
        let query = RequestQuery(["d": dates, "b": [true, false], "o": [Order.newest], "n": numbers], format: format)
        #expect(encoded(query) == expected)
    }

    @Test func writesDatesWithFractionsOrInParts() {
        let date = Date(timeIntervalSince1970: 1_700_000_000.25)
        let fractions = QueryFormat(dates: .iso8601WithFractions)
        #expect(encoded(RequestQuery(["t": date], format: fractions)) == "t=2023-11-14T22:13:20.250Z")
        let days = QueryFormat(dates: .formatted(.iso8601.year().month().day()))
        #expect(encoded(RequestQuery(["t": date], format: days)) == "t=2023-11-14")
    }

    @Test func readsADictionarySortedByName() {
        let filters = ["b": "2 & 3", "a": "1", "c": ""]
        #expect(encoded(RequestQuery(filters)) == "a=1&b=2%20%26%203&c=")
        #expect(encoded(RequestQuery([String: String]())) == nil)
        let pages = ["b": [2, 3], "a": [1]]
        #expect(encoded(RequestQuery(pages, format: QueryFormat(arrays: .commaSeparated))) == "a=1&b=2,3")
        // A literal keeps its order.
        #expect(encoded(RequestQuery(["b": "2", "a": "1"])) == "b=2&a=1")
    }

    @Test func readsTheItemsOfFoundation() {
        let items = [
            URLQueryItem(name: "q", value: "a+b"), URLQueryItem(name: "flag", value: nil),
            URLQueryItem(name: "q", value: ""),
        ]
        #expect(encoded(RequestQuery(items)) == "q=a%2Bb&flag&q=")
        #expect(encoded(RequestQuery([URLQueryItem]())) == nil)
    }
}
