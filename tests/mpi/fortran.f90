! SPDX-License-Identifier: BSD-3-Clause
!
! The mpi_f08 module: a ring of blocking and nonblocking messages, a column of a matrix as a strided type,
! statuses, a reduction, a neighborhood whose blocks have types of their own.
program fortran
    use mpi_f08
    implicit none
    integer :: rank, size, next, before, count, failures, all_failures, i
    integer, parameter :: n = 500
    real(8) :: matrix(n, n), other(n, n), column(n), total
    type(MPI_Status) :: status
    type(MPI_Request) :: requests(2)
    type(MPI_Datatype) :: row
    type(MPI_Comm) :: ring
    integer :: to_neighbors(2), from_neighbors(2)
    integer, parameter :: ones(2) = 1
    integer(MPI_ADDRESS_KIND), parameter :: places(2) = [0, 4]

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    next = mod(rank + 1, size)
    before = mod(rank + size - 1, size)
    failures = 0

    matrix = rank
    matrix(3, :) = [(rank * 1000 + i, i = 1, n)]
    call MPI_Type_vector(n, 1, n, MPI_REAL8, row)
    call MPI_Type_commit(row)
    call MPI_Irecv(column, n, MPI_REAL8, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(matrix(3, 1), 1, row, next, 4, MPI_COMM_WORLD, requests(2))
    call MPI_Wait(requests(1), status)
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
    call MPI_Get_count(status, MPI_REAL8, count)
    if (count /= n .or. status%MPI_SOURCE /= before .or. status%MPI_TAG /= 4) failures = failures + 1
    if (any(column /= [(before * 1000 + i, i = 1, n)])) failures = failures + 1
    call MPI_Type_free(row)

    call MPI_Irecv(other, n * n, MPI_REAL8, before, 5, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(matrix, n * n, MPI_REAL8, next, 5, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    if (any(other(1, :) /= before) .or. other(3, n) /= before * 1000 + n) failures = failures + 1

    call MPI_Allreduce(real(rank, 8), total, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
    if (total /= size * (size - 1) / 2) failures = failures + 1

    call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., ring)
    to_neighbors = [rank * 10, rank * 10 + 1]
    call MPI_Neighbor_alltoallw(to_neighbors, ones, places, [MPI_INTEGER, MPI_INTEGER], from_neighbors, ones, places, &
        [MPI_INTEGER, MPI_INTEGER], ring)
    if (any(from_neighbors /= [before * 10 + 1, next * 10])) failures = failures + 1
    call MPI_Comm_free(ring)

    call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (all_failures /= 0 .and. rank == 0) print *, all_failures, 'expectations failed'
    call MPI_Finalize()
    if (all_failures /= 0) stop 1
end program fortran
