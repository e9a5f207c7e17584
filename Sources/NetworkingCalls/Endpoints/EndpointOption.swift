public import NetworkingCore

/// A value for an option or another property of an endpoint's request.
///
/// ```swift
/// struct GetUsers: Endpoint {
///     typealias Response = [User]
///     var path: RequestPath { "users" }
///     var options: [EndpointOption] { [.set(\.cacheMode, .reload), .set(\.retryPolicy, .never)] }
/// }
/// ```
public struct EndpointOption: Sendable {
    let apply: @Sendable (inout HTTPRequestData) -> Void

    /// Creates a value for a property of the request, with the same arguments as ``HTTPRequestData/with(_:_:)``.
    ///
    /// - Parameters:
    ///   - property: The property: an option of the library, such as `\.timeout`, or one of your own.
    ///   - value: Its value.
    /// - Returns: The option.
    public static func set<Value: Sendable>(
        _ property: any WritableKeyPath<HTTPRequestData, Value> & Sendable,
        _ value: Value
    ) -> EndpointOption {
        EndpointOption { $0[keyPath: property] = value }
    }
}
