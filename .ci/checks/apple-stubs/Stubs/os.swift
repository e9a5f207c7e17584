// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of os that the library uses, with the signatures that Apple documents.

public struct Logger: Sendable {
    public init(subsystem: String, category: String) {}

    public func log(level: OSLogType, _ message: OSLogMessage) {}
}

public struct OSLogType: RawRepresentable, Equatable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let `default` = OSLogType(rawValue: 0)
    public static let info = OSLogType(rawValue: 1)
    public static let debug = OSLogType(rawValue: 2)
    public static let error = OSLogType(rawValue: 16)
    public static let fault = OSLogType(rawValue: 17)
}

public struct OSLogPrivacy: Sendable {
    public static var auto: OSLogPrivacy { OSLogPrivacy() }
    public static var `public`: OSLogPrivacy { OSLogPrivacy() }
    public static var `private`: OSLogPrivacy { OSLogPrivacy() }
    public static var sensitive: OSLogPrivacy { OSLogPrivacy() }
}

public struct OSLogMessage: ExpressibleByStringInterpolation {
    public init(stringInterpolation: OSLogInterpolation) {}

    public init(stringLiteral value: String) {}
}

public struct OSLogInterpolation: StringInterpolationProtocol {
    public init(literalCapacity: Int, interpolationCount: Int) {}

    public mutating func appendLiteral(_ literal: String) {}

    public mutating func appendInterpolation(
        _ argumentString: @autoclosure @escaping () -> String,
        privacy: OSLogPrivacy = .auto
    ) {}
}

public typealias SignpostMetadata = OSLogMessage

public struct OSSignpostID: Sendable, Hashable {
    public init(_ value: UInt64) {}

    public static let exclusive = OSSignpostID(0)
}

public final class OSSignpostIntervalState: Sendable {
    public static func beginState(id: OSSignpostID) -> OSSignpostIntervalState {
        fatalError()
    }
}

public struct OSSignposter: Sendable {
    public init(subsystem: String, category: String) {}

    public func beginInterval(
        _ name: StaticString,
        id: OSSignpostID = .exclusive,
        _ message: SignpostMetadata
    ) -> OSSignpostIntervalState {
        fatalError()
    }

    public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState, _ message: SignpostMetadata) {}

    public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive, _ message: SignpostMetadata) {}
}
