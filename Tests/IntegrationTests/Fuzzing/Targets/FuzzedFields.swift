import Foundation
import HTTPTypes

@testable import NetworkingAuthentication
@testable import NetworkingCaching
@testable import NetworkingCore
@testable import NetworkingObservability
@testable import NetworkingResilience
@testable import NetworkingTraffic
@testable import NetworkingTransfers

#if Crypto
import RawStructuredFieldValues

@testable import NetworkingSigning
#endif

extension FuzzTarget {
    /// Header fields.
    static let fields = [
        FuzzTarget("structured-fields", of: "NetworkingCore/Text/StructuredItem.swift") { bytes in
            let text = bytes.text
            let list = StructuredItem.list(text)
            let dictionary = StructuredItem.dictionary(text)
            let item = StructuredItem.item(text)
            // An item is a list with one member, unless it has no list's white space.
            if let item { try requireEqual(list, [item], "the item is another member of a list") }
            if let dictionary {
                try require(
                    dictionary.keys.allSatisfy { $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } },
                    "a name is no key"
                )
            }
            #if Crypto
            try requireEqual(item, ForeignFields.item(text), "the other parser reads another item")
            try requireEqual(list, ForeignFields.list(text), "the other parser reads another list")
            try requireEqual(dictionary, ForeignFields.dictionary(text), "the other parser reads another dictionary")
            #endif
        },
        FuzzTarget("dates", of: "NetworkingCore/Text/HTTPDate.swift") { bytes in
            let now = Date(timeIntervalSince1970: 1_800_000_000)
            guard let date = Date(httpDate: bytes.text, now: now) else { return }
            let text = date.httpDate
            try requireEqual(Date(httpDate: text, now: now), date, "the date is another one in HTTP's format")
            // Before, Foundation has the dates of the Julian calendar.
            guard date.timeIntervalSince1970 > -12_219_292_800 else { return }
            // `Sun, 06 Nov 1994 08:49:37 GMT` and `1994-11-06T08:49:37Z`.
            let parts = text.split(separator: " ")
            let month = Date.httpMonth(named: parts[2]).map { String($0 + 100).dropFirst() } ?? ""
            let foundation = date.formatted(Date.ISO8601FormatStyle())
            try requireEqual("\(parts[3])-\(month)-\(parts[1])T\(parts[4])Z", foundation, "Foundation has another date")
        },
        FuzzTarget(
            "ranges",
            of: "NetworkingCore/Messages/ContentRange.swift",
            "NetworkingCaching/CacheConditions.swift"
        ) {
            let text = $0.text
            if let content = ContentRange(text) {
                let length = content.length.map { "\($0)" } ?? "*"
                let field = "bytes \(content.range.lowerBound)-\(content.range.upperBound - 1)/\(length)"
                try requireEqual(ContentRange(field), content, "the range is another one when it is written")
                try require(!content.range.isEmpty && content.range.lowerBound >= 0, "the range is empty or negative")
                try require(content.range.upperBound <= content.length ?? .max, "the range ends after its whole")
            }
            if let range = ByteRange(text) {
                for length in [nil, 0, 1, 10, Int.max] {
                    guard let bounds = range.bounds(of: length) else { continue }
                    try require(bounds.lowerBound >= 0 && bounds.upperBound <= length ?? .max, "the range is outside")
                }
            }
            for tag in text.entityTags {
                try require(tag.isWeaklyEqual(to: tag), "a tag differs from itself")
            }
        },
        FuzzTarget(
            "content-disposition",
            of: "NetworkingTransfers/Downloads/FileName.swift",
            "NetworkingTransfers/Downloads/SuggestedFileName.swift",
            "NetworkingCore/Bodies/BodyType.swift"
        ) { bytes in
            guard let name = FileName.suggested(by: bytes.text) else { return }
            try require(!name.isEmpty && name.utf8.count <= FileName.maximumLength, "the name has no usable length")
            try require(!name.utf8.contains { $0 < 0x20 || "/\\:\u{7F}".utf8.contains($0) }, "the name has a separator")
            try require(name.utf8.first != UInt8(ascii: "."), "the name is hidden")
            try requireEqual(FileName.safe(name), name, "a harmless name is made harmless again")
        },
        FuzzTarget(
            "challenges",
            of: "NetworkingAuthentication/AuthenticationChallenge.swift",
            "NetworkingSigning/Digest"
        ) {
            let challenges = AuthenticationChallenge.challenges(in: $0.text)
            // Written with quotation marks around each value, they are the same challenges.
            let text =
                challenges.map { challenge in
                    let parameters = challenge.parameters.sorted { $0.key < $1.key }
                        .map { "\($0.key)=\"\($0.value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"" }
                    return "\(challenge.scheme) \(challenge.token ?? parameters.joined(separator: ", "))"
                }
                .joined(separator: ", ")
            try requireEqual(AuthenticationChallenge.challenges(in: text), challenges, "the challenges change")
            #if Crypto
            for challenge in DigestChallenge.byStrength(challenges) {
                try require(challenge.realm.utf8.count <= DigestChallenge.maximumLength, "the realm is too long")
                try require(!challenge.nonce.utf8.contains { $0 < 0x20 }, "the nonce has a control character")
            }
            #endif
        },
        FuzzTarget("rate-limit", of: "NetworkingTraffic/ServerLimits/HTTPFields+ServerLimits.swift") { bytes in
            let limits = bytes.fields.serverLimits(now: Date(timeIntervalSince1970: 1_800_000_000))
            for limit in limits {
                try require(
                    limit.remaining.map { $0 >= 0 } ?? true && limit.quota.map { $0 >= 0 } ?? true,
                    "a number is negative"
                )
                try require(
                    limit.reset.map { $0 >= .zero } ?? true && limit.window.map { $0 >= .zero } ?? true,
                    "a time is negative"
                )
            }
            try require(limits.count <= 33, "there are \(limits.count) limits")
        },
        FuzzTarget(
            "trace",
            of: "NetworkingObservability/Tracing/TraceParent.swift",
            "NetworkingObservability/Tracing/TraceState.swift"
        ) { bytes in
            let text = bytes.text
            if let parent = TraceParent(text) {
                try requireEqual(TraceParent(parent.description), parent, "the parent changes")
                try require(
                    text.utf8.starts(with: parent.description.utf8.prefix(0)) && parent.description.utf8.count == 55,
                    "the parent has another length"
                )
            }
            if let state = TraceState(text) {
                try requireEqual(TraceState(state.description), state, "the state changes")
                try require(state.members.count <= TraceState.maximumMembers, "the state has too many members")
                try require(state.shortened(to: 64).description.utf8.count <= 64, "the shortened state is too long")
            }
            if let context = TraceContext(headerFields: bytes.fields) {
                try requireEqual(TraceContext(headerFields: context.headerFields), context, "the context changes")
            }
        },
        FuzzTarget("link", of: "NetworkingCore/Messages/LinkField.swift") { bytes in
            let links = LinkField.parse(bytes.text)
            for link in links {
                let relations = link.relations.joined(separator: " ")
                    .replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                let text = "<\(link.target)>; rel=\"\(relations)\"\(link.hasAnchor ? "; anchor=\"\"" : "")"
                try requireEqual(LinkField.parse(text), [link], "the link changes")
            }
            try require(links.count <= bytes.count, "there are more links than bytes")
        },
        FuzzTarget(
            "retry-after",
            of: "NetworkingCore/Messages/RetryAfter.swift",
            "NetworkingCore/Messages/MediaRange.swift",
            "NetworkingCore/Messages/HTTPFields+Lines.swift"
        ) { bytes in
            let response = HTTPResponse(status: .serviceUnavailable, headerFields: bytes.fields)
            let wait = response.retryAfter(now: Date(timeIntervalSince1970: 1_800_000_000))
            try require(wait.map { $0 >= .zero } ?? true, "the time is negative")
            if let range = MediaRange(bytes.text) {
                try require(
                    range.contains(range.type) || range.type.contains("*"),
                    "the range does not contain its type"
                )
                try requireEqual(MediaRange(range.type), range, "the range changes")
            }
        },
    ]

    #if Crypto
    /// The digests of bodies, which two parsers read.
    static let digests = FuzzTarget(
        "digest-fields",
        of: "NetworkingSigning/MessageSignatures/StructuredFields.swift",
        "NetworkingTransfers/Digests/StatedDigests.swift"
    ) { bytes in
        let text = bytes.text
        guard HTTPField.isValidValue(text), let name = HTTPField.Name("Content-Digest") else { return }
        let field = HTTPField(name: name, value: text)
        let members = try? OrderedMap(lines: [field])
        let own = StructuredItem.dictionary(String(text))
        try requireEqual(members.flatMap { ForeignFields.dictionary($0) }, own, "the two parsers read other members")
        let serialized = try members.map { try $0.serialized }
        if let members, members.count > 0, let serialized {
            let again = try OrderedMap(lines: [HTTPField(name: name, value: serialized)])
            try requireEqual(ForeignFields.dictionary(again), ForeignFields.dictionary(members), "the members change")
        }
        var request = HTTPRequestData(path: "/")
        request.headerFields[.acceptEncoding] = "identity"
        let head = HTTPResponse(status: .ok, headerFields: [.reprDigest: text])
        if case .known(let digests) = StatedDigests(of: head, to: request) {
            try require(!digests.isEmpty, "no digest is known")
        }
    }
    #endif
}

#if Crypto
/// What swift-http-structured-headers reads.
private enum ForeignFields {
    static func item(_ text: String) -> StructuredItem? {
        var parser = StructuredFieldValueParser(Array(text.utf8))
        return (try? parser.parseItemFieldValue()).flatMap { item($0) }
    }

    static func list(_ text: String) -> [StructuredItem]? {
        var parser = StructuredFieldValueParser(Array(text.utf8))
        guard let members = try? parser.parseListFieldValue() else { return nil }
        let items = members.compactMap { member($0) }
        return items.count == members.count ? items : nil
    }

    static func dictionary(_ text: String) -> [String: StructuredItem]? {
        var parser = StructuredFieldValueParser(Array(text.utf8))
        return (try? parser.parseDictionaryFieldValue()).flatMap { dictionary($0) }
    }

    static func dictionary(_ map: OrderedMap<String, ItemOrInnerList>) -> [String: StructuredItem]? {
        var members: [String: StructuredItem] = [:]
        for (name, value) in map {
            guard let value = member(value) else { return nil }
            members[name] = value
        }
        return members
    }

    private static func member(_ member: ItemOrInnerList) -> StructuredItem? {
        switch member {
        case .item(let value): return item(value)
        case .innerList(let list):
            let items = list.bareInnerList.compactMap { item($0) }
            guard items.count == list.bareInnerList.count, let parameters = parameters(list.rfc9651Parameters) else {
                return nil
            }
            return StructuredItem(.innerList(items), parameters: parameters)
        }
    }

    private static func item(_ item: Item) -> StructuredItem? {
        guard let value = value(item.rfc9651BareItem), let parameters = parameters(item.rfc9651Parameters) else {
            return nil
        }
        return StructuredItem(value, parameters: parameters)
    }

    private static func parameters(_ map: OrderedMap<String, RFC9651BareItem>) -> [String: StructuredItem.Value]? {
        var parameters: [String: StructuredItem.Value] = [:]
        for (name, item) in map {
            guard let value = value(item) else { return nil }
            parameters[name] = value
        }
        return parameters
    }

    private static func value(_ item: RFC9651BareItem) -> StructuredItem.Value? {
        switch item {
        case .bool(let value): .boolean(value)
        case .integer(let value): .integer(value)
        // Its own conversion rounds twice.
        case .decimal(let value): Double("\(value.mantissa)e\(value.exponent)").map { .decimal($0) }
        case .string(let value): .string(value)
        case .token(let value): .token(value)
        case .date(let value): .date(value)
        case .displayString(let value): .displayString(value)
        // It does not decode byte sequences, and accepts any characters of base64 in any order.
        case .undecodedByteSequence(let text): bytes(ofBase64: text).map { .bytes($0) }
        }
    }

    private static func bytes(ofBase64 text: String) -> [UInt8]? {
        let digits = text.prefix { $0 != "=" }
        let padding = text.dropFirst(digits.count)
        guard digits.count % 4 != 1, padding.allSatisfy({ $0 == "=" }), padding.count <= 2,
            padding.isEmpty || text.count.isMultiple(of: 4)
        else { return nil }
        return Data(base64Encoded: digits + String(repeating: "=", count: -digits.count & 3)).map { Array($0) }
    }
}
#endif
