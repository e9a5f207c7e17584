// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What the library uses of SwiftUI, with the signatures that Apple documents.

public protocol EnvironmentKey {
    associatedtype Value

    static var defaultValue: Self.Value { get }
}

public struct EnvironmentValues {
    public init() {}

    public subscript<K: EnvironmentKey>(key: K.Type) -> K.Value {
        get { K.defaultValue }
        set {}
    }
}
