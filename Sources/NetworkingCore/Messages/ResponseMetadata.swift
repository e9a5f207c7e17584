/// A value that a component leaves on a response or on a ``NetworkingError``, declared by the component.
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
/// `error[metadata: IsFromFixture.self]` is the same for a request that failed. Metadata is not part of a response's
/// equality.
public protocol ResponseMetadata {
    /// The type of the value.
    associatedtype Value: Sendable

    /// The value on a response or an error that nobody has set it on.
    static var defaultValue: Value { get }
}
