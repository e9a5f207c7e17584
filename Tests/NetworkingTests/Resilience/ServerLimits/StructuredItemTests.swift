import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience

#if Crypto
import RawStructuredFieldValues
#endif

/// The parser of lists agrees with that of swift-http-structured-headers.
@Suite
struct StructuredItemTests {
    private static let fields = [
        "\"a\";r=0;t=30", "\"a\\\"b\";pk=:YQ==:", "tok/en:*;x=?1;y=?0", "1, -2, 3.5, -999999999999999",
        "(\"a\" b;c=1 (), 2);d", "()", "(  )", "@1700000000", "%\"caf%c3%a9\"", ":aGVsbG8:", "*a", "", "   ", "a,b",
        "a\t,\tb", "a;b=1;b=2", "1.", ".5", "1.2345", "123456789012.123", "1234567890123.1", "1000000000000000",
        "?2", "%\"%C3\"", "%\"%ff\"", "\"unclosed", ":bad padding:", "a,", ",a", "(a", "a b", "\u{e9}", "a;A=1", "--1",
        "-", "@1.5", "a;;b", "a;b=", "\"a\u{7}\"", "\"x\";*k.-_=1",
    ]

    @Test func valuesAndParametersAreRead() {
        #expect(
            StructuredItem.list("\"a\\\"b\";r=-5;r=7;k;pk=:YQ==:, tok;z=?0")
                == [
                    StructuredItem(
                        value: .string("a\"b"),
                        parameters: ["r": .integer(7), "k": .boolean(true), "pk": .bytes("YQ")]
                    ),
                    StructuredItem(value: .other, parameters: ["z": .boolean(false)]),
                ]
        )
        #expect(StructuredItem.list("") == [])
        #expect(StructuredItem.list("\"a\",") == nil)
    }

    #if Crypto
    @Test(arguments: fields)
    func agreesWithThePackage(field: String) {
        #expect(StructuredItem.list(field).map(Self.parts) == Self.expected(field), "\(field)")
    }

    @Test func agreesWithThePackageOnDamagedFields() {
        let hammer = Hammer()
        var random = hammer.random(0)
        let alphabet = Array("\"ab;=,()*?01-.%@ \t\\A/=c3")
        // The package leaves it to its user to decode byte sequences.
        let fields = Self.fields.filter { !$0.contains(":") }
        for _ in 0..<20_000 {
            var field = Array(fields.randomElement(using: &random) ?? "")
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0...field.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: field.insert(alphabet.randomElement(using: &random) ?? "a", at: index)
                case 1 where index < field.count: field.remove(at: index)
                default: if index < field.count { field[index] = alphabet.randomElement(using: &random) ?? "a" }
                }
            }
            let text = String(field)
            #expect(StructuredItem.list(text).map(Self.parts) == Self.expected(text), "\(text), \(hammer)")
        }
    }

    private static func parts(_ items: [StructuredItem]) -> [String] {
        items.map { item in
            let parameters = item.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\(text($0.value))" }
            return ([text(item.value)] + parameters).joined(separator: ";")
        }
    }

    private static func text(_ value: StructuredItem.Value) -> String {
        switch value {
        case .boolean(let flag): "boolean \(flag)"
        case .integer(let number): "integer \(number)"
        case .string(let text): "string \(text)"
        case .bytes(let data): "bytes \(data)"
        case .other: "other"
        }
    }

    private static func expected(_ field: String) -> [String]? {
        var parser = StructuredFieldValueParser(Array(field.utf8))
        guard let members = try? parser.parseListFieldValue() else { return nil }
        return members.map { member in
            switch member {
            case .item(let item):
                ([text(item.rfc9651BareItem)] + parameters(item.rfc9651Parameters)).joined(separator: ";")
            case .innerList(let list): (["other"] + parameters(list.rfc9651Parameters)).joined(separator: ";")
            }
        }
    }

    private static func parameters(_ parameters: OrderedMap<String, RFC9651BareItem>) -> [String] {
        parameters.map { ($0.0, $0.1) }.sorted { $0.0 < $1.0 }.map { "\($0.0)=\(text($0.1))" }
    }

    private static func text(_ item: RFC9651BareItem) -> String {
        switch item {
        case .bool(let flag): "boolean \(flag)"
        case .integer(let number): "integer \(number)"
        case .string(let text): "string \(text)"
        case .undecodedByteSequence(let data): "bytes \(data.filter { $0 != "=" })"
        default: "other"
        }
    }
    #endif

    @Test func anyFieldsAreHarmless() {
        let hammer = Hammer()
        var random = hammer.random(0)
        let clock = ManualClock()
        let names = [
            "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
            "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "Age", "Cache-Status",
            "Date",
        ]
        let values = [
            "0", "1", "-1", "+0", "--1", "NaN", "inf", "1e30", "1" + String(repeating: "0", count: 30), "0.5", "",
            "9223372036854775807", "9223372036854775808", "-9223372036854775808", "4503599627370496", "1700000000",
            "999999999999999",
        ]
        let limiter = ServerRateLimiter()
        for _ in 0..<5_000 {
            var fields = HTTPFields()
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                guard let text = names.randomElement(using: &random), let name = HTTPField.Name(text) else { continue }
                let number = { values.randomElement(using: &random) ?? "" }
                let list = (0..<Int.random(in: 1...3, using: &random))
                    .map { _ in "\"p\";r=\(number());t=\(number());q=\(number());w=\(number())" }
                fields.append(
                    HTTPField(name: name, value: Bool.random(using: &random) ? number() : list.joined(separator: ","))
                )
            }
            let response = HTTPResponseData(
                request: .lawful,
                status: [.ok, .tooManyRequests, .found].randomElement(using: &random) ?? .ok,
                headerFields: fields
            )
            for _ in 0..<3 {
                let decision = limiter.lines.enter(.lawful, .only, waitingUpTo: .seconds(3_600), on: .manual(clock))
                guard case .passed(let ticket) = decision else {
                    if case .waits(let place, _) = decision { limiter.lines.leave(place, .only, on: .manual(clock)) }
                    continue
                }
                limiter.lines.end(ticket, .only, with: limiter.report(on: response), on: .manual(clock))
            }
            clock.advance(by: .seconds(Int64.random(in: 0...100_000, using: &random)))
        }
        clock.advance(by: .seconds(90_000))
        // Nothing closes the limiter for longer than a day.
        guard case .passed = limiter.lines.enter(.lawful, .only, waitingUpTo: .zero, on: .manual(clock)) else {
            Issue.record("still closed, \(hammer)")
            return
        }
    }
}
