/// A value that a component sets on a response or on a ``NetworkingError``, declared by the component.
///
/// ```swift
/// enum IsFromFixture: ResponseMetadata {
///     static let defaultValue = false
/// }
///
/// extension HTTPResponseData {
///     var isFromFixture: Bool {
///         get { self[metadata: IsFromFixture.self] }
///         set { self[metadata: IsFromFixture.self] = newValue }
///     }
/// }
/// ```
///
/// For a request that failed, use `error[metadata: IsFromFixture.self]`. Metadata is not part of a response's equality.
public protocol ResponseMetadata {
    /// The type of the value.
    associatedtype Value: Sendable

    /// The value on a response or an error on which it has not been set.
    static var defaultValue: Value { get }
}
