import Foundation
import HTTPTypes

@testable import NetworkingCaching
@testable import NetworkingCore

extension FuzzTarget {
    /// The fields and the stored heads of a cache.
    static let caches = [
        FuzzTarget(
            "cache-control",
            of: "NetworkingCaching/CacheControl.swift",
            "NetworkingCaching/CacheControl+Structured.swift"
        ) { bytes in
            let text = bytes.text
            let control = CacheControl(bytes.textLines)
            for directive in CacheControl.Directives.named.values {
                let seconds = control.seconds(directive)
                try require(seconds.map { 0...2_147_483_648 ~= $0 } ?? true, "the seconds are out of range")
                try require(seconds == nil || control.contains(directive), "a missing directive has seconds")
                _ = control.fieldNames(directive)
            }
            if !bytes.contains(UInt8(ascii: "\"")), !bytes.contains(UInt8(ascii: "\n")) {
                try requireEqual(control.directives, CacheControl.model(text), "the model has other directives")
            }
            let targeted = CacheControl(structured: [text])
            let members = StructuredItem.dictionary(text).flatMap { $0.isEmpty ? nil : $0 }
            try requireEqual(targeted != nil, members != nil, "one parser refuses the field")
            if case .integer(let age)? = members?["max-age"]?.value {
                try requireEqual(targeted?.seconds(.maxAge), max(0, min(Double(age), 2_147_483_648)), "another age")
            }
        },
        FuzzTarget("vary", of: "NetworkingCaching/CacheFacts.swift", "NetworkingCaching/CacheRules.swift") { bytes in
            let response = HTTPResponse(status: .ok, headerFields: bytes.fields)
            let names = response.headerFields[values: .vary].flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
                .map { String(Substring($0).trimmed).lowercased() }.filter { !$0.isEmpty }
            let isUsable = names.allSatisfy { $0 != "*" && HTTPField.Name($0) != nil }
            try requireEqual(
                CacheFacts.vary(of: response)?.map(\.name),
                isUsable ? names : nil,
                "another list of names"
            )
            let date = Date(timeIntervalSince1970: 1_800_000_000)
            let facts = CacheFacts(response, requestDate: date, responseDate: date)
            try require(facts.lifetime >= 0 && facts.sharedLifetime >= 0, "a lifetime is negative")
            try require(facts.initialAge >= 0 && facts.initialAge.isFinite, "the age is negative")
        },
        FuzzTarget("no-vary-search", of: "NetworkingCaching/SearchVariance.swift") { bytes in
            let lines = bytes.textLines
            guard let variance = SearchVariance(lines[0]) else { return }
            let urls = lines.dropFirst().prefix(3)
            for url in urls {
                try require(variance.isEquivalent(url, url), "a URL differs from itself")
                for other in urls {
                    let isEquivalent = variance.isEquivalent(url, other)
                    try requireEqual(variance.isEquivalent(other, url), isEquivalent, "the order of the URLs matters")
                    let (base, query) = RequestTarget.split(url)
                    let (otherBase, otherQuery) = RequestTarget.split(other)
                    guard url != other, base == otherBase else { continue }
                    let classes = [query, otherQuery].map { variance.equivalenceClass(of: $0) }
                    try requireEqual(isEquivalent, classes[0] != nil && classes[0] == classes[1], "another class")
                }
            }
        },
        FuzzTarget("cache-head", of: "NetworkingCaching/EntryHead.swift") { bytes in
            guard let entry = EntryHead.decoded(bytes) else { return }
            guard let again = EntryHead.decoded([UInt8](EntryHead.encode(entry))) else {
                throw FuzzFailure(description: "an encoded head is refused")
            }
            try requireEqual(again.response, entry.response, "the response changes")
            try requireEqual(again.varying, entry.varying, "the varying fields change")
            try requireEqual(again.part, entry.part, "the part changes")
            let dates = [entry, again]
                .map {
                    [
                        "\($0.requestDate.timeIntervalSinceReferenceDate)",
                        "\($0.responseDate.timeIntervalSinceReferenceDate)",
                    ]
                }
            try requireEqual(dates[0], dates[1], "the dates change")
        },
    ]
}

extension EntryHead {
    fileprivate static func decoded(_ bytes: [UInt8]) -> CachedEntry? {
        bytes.withUnsafeBytes {
            decode($0, id: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), body: Data())
        }
    }
}

extension CacheControl {
    /// The directives of a value without quotation marks.
    fileprivate static func model(_ value: String) -> Directives {
        var directives: Directives = []
        for part in value.utf8.split(separator: UInt8(ascii: ",")) {
            let part = Substring(part).trimmed
            let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            directives.formUnion(Directives.named[part[..<equals].lowercased()] ?? [])
        }
        return directives
    }
}
