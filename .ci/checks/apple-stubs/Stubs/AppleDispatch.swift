// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The memory pressure sources of Dispatch that the library uses, with the signatures that Apple documents.

@_exported public import Dispatch

public protocol DispatchSourceMemoryPressure: DispatchSourceProtocol {}

extension DispatchSource {
    public struct MemoryPressureEvent: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let warning = MemoryPressureEvent(rawValue: 2)
        public static let critical = MemoryPressureEvent(rawValue: 4)
    }

    public class func makeMemoryPressureSource(
        eventMask: MemoryPressureEvent,
        queue: DispatchQueue? = nil
    ) -> any DispatchSourceMemoryPressure {
        fatalError()
    }
}
