import Foundation
import TestSupport
import Testing

@testable import NetworkingCore

#if Crypto
import RawStructuredFieldValues
#endif

/// The parser agrees with that of swift-http-structured-headers.
@Suite struct StructuredItemTests {
    private static let fields = [
        "\"a\";r=0;t=30", "\"a\\\"b\";pk=:YQ==:", "tok/en:*;x=?1;y=?0", "1, -2, 3.5, -999999999999999",
        "(\"a\" b;c=1 (), 2);d", "()", "(  )", "@1700000000", "%\"caf%c3%a9\"", ":aGVsbG8=:", "*a", "", "   ", "a,b",
        "a\t,\tb", "a;b=1;b=2", "1.", ".5", "1.2345", "123456789012.123", "1234567890123.1", "1000000000000000",
        "?2", "%\"%C3\"", "%\"%ff\"", "\"unclosed", ":bad padding:", "a,", ",a", "(a", "a b", "\u{e9}", "a;A=1", "--1",
        "-", "@1.5", "a;;b", "a;b=", "\"a\u{7}\"", "\"x\";*k.-_=1", "a=1", "a, b=2;c=3, a=(1 2);d", "a=,b", "a=1,",
        "A=1", "*=:YQ==:",
        "a=?0, b;c, d=\"e\"", "b=1 2", " 1 ", "1;a, 2", "(1)", "@-1;x=@2",
    ]

    @Test func valuesAndParametersAreRead() {
        #expect(
            StructuredItem.list("\"a\\\"b\";r=-5;r=7;k;pk=:YQ:, tok;z=?0, (1.5 @-2);x=%\"caf%c3%a9\"")
                == [
                    StructuredItem(
                        .string("a\"b"),
                        parameters: ["r": .integer(7), "k": .boolean(true), "pk": .bytes([0x61])]
                    ),
                    StructuredItem(.token("tok"), parameters: ["z": .boolean(false)]),
                    StructuredItem(
                        .innerList([StructuredItem(.decimal(1.5)), StructuredItem(.date(-2))]),
                        parameters: ["x": .displayString("caf\u{e9}")]
                    ),
                ]
        )
        #expect(StructuredItem.list("") == [])
        #expect(StructuredItem.list("\"a\",") == nil)
        #expect(
            StructuredItem.dictionary("a;b, c=1, a=2")
                == ["a": StructuredItem(.integer(2)), "c": StructuredItem(.integer(1))]
        )
        #expect(StructuredItem.dictionary("") == [:])
        #expect(StructuredItem.item(" a;b=1 ") == StructuredItem(.token("a"), parameters: ["b": .integer(1)]))
        #expect(StructuredItem.item("") == nil)
    }

    #if Crypto
    @Test(arguments: fields)
    func agreesWithThePackage(field: String) {
        expectAgreement(field)
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
            expectAgreement(text, "\(hammer)")
        }
    }

    private func expectAgreement(_ field: String, _ comment: String = "") {
        let bytes = Array(field.utf8)
        var list = StructuredFieldValueParser(bytes)
        let members = (try? list.parseListFieldValue())?.map { Self.item($0) }
        #expect(StructuredItem.list(field) == members, "\(field), \(comment)")
        var dictionary = StructuredFieldValueParser(bytes)
        let named = (try? dictionary.parseDictionaryFieldValue())
            .map { Dictionary(uniqueKeysWithValues: $0.map { ($0.0, Self.item($0.1)) }) }
        #expect(StructuredItem.dictionary(field) == named, "\(field), \(comment)")
        var single = StructuredFieldValueParser(bytes)
        let item = (try? single.parseItemFieldValue()).map { Self.item(.item($0)) }
        #expect(StructuredItem.item(field) == item, "\(field), \(comment)")
    }

    private static func item(_ item: ItemOrInnerList) -> StructuredItem {
        switch item {
        case .item(let item):
            StructuredItem(value(item.rfc9651BareItem), parameters: parameters(item.rfc9651Parameters))
        case .innerList(let list):
            StructuredItem(
                .innerList(list.bareInnerList.map { Self.item(.item($0)) }),
                parameters: parameters(list.rfc9651Parameters)
            )
        }
    }

    private static func parameters(
        _ parameters: OrderedMap<String, RFC9651BareItem>
    ) -> [String: StructuredItem.Value] {
        Dictionary(parameters.map { ($0.0, value($0.1)) }) { $1 }
    }

    private static func value(_ item: RFC9651BareItem) -> StructuredItem.Value {
        switch item {
        case .bool(let flag): .boolean(flag)
        case .integer(let number): .integer(number)
        case .decimal(let number): .decimal(Double(number.mantissa) / pow(10, -Double(number.exponent)))
        case .string(let text): .string(text)
        case .token(let text): .token(text)
        case .undecodedByteSequence(let text): .bytes(Array(Data(base64Encoded: text) ?? Data()))
        case .date(let seconds): .date(seconds)
        case .displayString(let text): .displayString(text)
        }
    }
    #endif
}
