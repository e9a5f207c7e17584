// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of Network that the library uses, with the signatures that Apple documents.

public import AppleDispatch

public final class NWPathMonitor: @unchecked Sendable {
    public init() {}

    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)?

    public func start(queue: DispatchQueue) {}

    public func cancel() {}
}

public struct NWPath: Equatable, Sendable {
    public enum Status: Sendable {
        case satisfied
        case unsatisfied
        case requiresConnection
    }

    public let status: NWPath.Status
    public let availableInterfaces: [NWInterface]
    public let isExpensive: Bool
    public let isConstrained: Bool

    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool {
        fatalError()
    }
}

public struct NWInterface: Hashable, Sendable {
    public enum InterfaceType: Sendable {
        case other
        case wifi
        case cellular
        case wiredEthernet
        case loopback
    }

    public let type: NWInterface.InterfaceType
    public let name: String
}
