mod golden;
mod mutation;
mod random_trace;
mod round_trip;
