import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.timeLimit(.minutes(20)))
struct LinkFieldTests {
    private func fields(_ values: [String]) throws -> HTTPFields {
        let name = try #require(HTTPField.Name("Link"))
        return HTTPFields(values.map { HTTPField(name: name, value: $0) })
    }

    @Test(
        arguments: [
            ([#"<https://a.example/?page=2>; rel="next""#], "https://a.example/?page=2"),
            (["<b>; rel=next"], "b"),
            (["<b>;rel=next;title=x"], "b"),
            (["  <b>  ;  rel  =  next  "], "b"),
            (["\t< b >\t;\trel=\"next\""], "b"),
            ([#"<>; rel="next""#], ""),
            // Names of parameters and relation types are not case-sensitive.
            ([#"<b>; REL="Next""#], "b"),
            // One of several relation types, links and fields
            ([#"<b>; rel="prev next last""#], "b"),
            (["<b>; rel=\"prev\tnext\""], "b"),
            ([#"<a>; rel="prev", <b>; rel="next", <c>; rel="last""#], "b"),
            ([#"<a>; rel="prev""#, #"<b>; rel="next""#], "b"),
            ([#"<b>; rel="next""#, #"<c>; rel="next""#], "b"),
            // Commas and semicolons in targets and quoted values
            (["<b?ids=1,2;3>; rel=next"], "b?ids=1,2;3"),
            ([#"<a>; title="x, <y>; rel=next"; rel=prev, <b>; rel=next"#], "b"),
            ([#"<b>; title="a \" b"; rel="next""#], "b"),
            ([#"<b>; title="\\"; rel=next"#], "b"),
            ([#"<b>; title*=UTF-8''n%C3%A4chste; rel=next"#], "b"),
            // Only the first `rel` counts.
            ([#"<b>; rel="next"; rel="prev""#], "b"),
            (["<a>; rel=prev; rel=next"], nil),
            // No link to the next page
            ([], nil), ([""], nil), ([","], nil), (["<b>"], nil), (["<b>; rel"], nil), (["<b>; rel="], nil),
            ([#"<b>; rel="nextpage""#], nil), (["<b>; rev=next"], nil), (["<b>; title=next"], nil),
            ([#"<b>; rel="prev"; title="next""#], nil),
            // The link starts at another resource.
            ([##"<b>; rel="next"; anchor="#part""##], nil),
            ([##"<a>; rel="next"; anchor="/other", <b>; rel="next""##], "b"),
            // Malformed links are skipped.
            (["b; rel=next"], nil), (["<b; rel=next"], nil), (["<b> rel=next"], nil), (["b>; rel=next"], nil),
            ([#"a, <b>; rel="next""#], "b"), ([",, ,<b>; rel=next"], "b"), (["<a> x, <b>; rel=next"], "b"),
            (["<b>;;; ;rel=next"], "b"), (["<b>; =x; rel=next"], "b"),
            ([#""<a>; rel=next, <b>; rel=next"#], nil),
            ([#"<b>; rel="next"#], "b"),
            ([#"<b>; rel="next\"#], nil),
        ] as [([String], String?)]
    )
    func findsTheFirstLinkToTheNextPage(values: [String], expected: String?) throws {
        #expect(try LinkField.target(of: "next", in: fields(values)) == expected)
    }

    @Test func readsAllLinksOfAField() {
        let links = LinkField.parse(#"<a>; rel="prev First", <b>; anchor=x, ?, <c>"#)

        #expect(
            links == [
                LinkField(target: "a", relations: ["prev", "first"], hasAnchor: false),
                LinkField(target: "b", relations: [], hasAnchor: true),
                LinkField(target: "c", relations: [], hasAnchor: false),
            ]
        )
    }

    @Test func ignoresOtherFields() throws {
        let name = try #require(HTTPField.Name("X-Link"))

        #expect(try LinkField.target(of: "next", in: [name: "<b>; rel=next"]) == nil)
    }

    @Test func fieldsThatAreTooLongAreAnError() throws {
        let link = #"<b>; rel="next""#
        let rest = String(repeating: "x", count: LinkField.maximumBytes - link.utf8.count)
        #expect(try LinkField.target(of: "next", in: fields([link, rest])) == "b")

        let values = [link, rest, "x"]
        #expect(throws: LinkField.TooLong.self) { try LinkField.target(of: "next", in: fields(values)) }
    }

    /// Each input is of one character, or a few, that may start a part of a link.
    @Test(arguments: ["<", "\"", ",", ";", "=", "\\", "<>", "<>;", "<>;a=\"", "<a>,", ",<"])
    func longFieldsAreParsedInLinearTime(part: String) {
        let count = LinkField.maximumBytes / part.utf8.count
        let values = [count / 16, count].map { String(repeating: part, count: $0) }

        #expect(isLinear(values[0], values[1]) { _ = LinkField.parse($0) })
    }

    @Test func randomFieldsDoNotCrash() {
        withSeed { random in
            for _ in 0..<2_000 {
                let value = random.text(of: "<<>>;;,,\"\"\\=  \trelnextanchorä", maximumCount: 60)
                for link in LinkField.parse(value) {
                    #expect(!link.target.contains(">"))
                }
            }
        }
    }
}
